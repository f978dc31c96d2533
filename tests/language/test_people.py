"""Names of people."""

from __future__ import annotations

import pytest

from fenster.language import load_language
from fenster.language.people import People

PEOPLE = People(load_language("en"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Contact Susan Wood for details.", ("Susan", "Wood")),
        ("Bill Gates and Mary Ann McDonald met.", ("Bill", "Gates", "Mary", "Ann", "McDonald")),
        ("Susan Wood", ("Susan", "Wood")),
        ("Susan J. Wood", ("Susan", "Wood")),
        ("Susan Wood's house", ("Susan", "Wood")),
        ("Susan The Brave", ()),
        ("Will Germany win? Mark Twain did.", ()),  # verbs, too
        ("I saw Susan. Wood is heavy.", ()),
        ("I met Susan Monday in May.", ()),
        ("Pope John Paul came to St. Mary Church.", ()),
        ("How Susan Builds Another House In The Spring", ()),
        ("Anna-Maria Wood and Ann-Wood", ()),
    ],
)
def test_first_names_and_surnames(text: str, names: tuple[str, ...]) -> None:
    assert PEOPLE.names(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("JOHN A. SMITH", ["JOHN A. SMITH"]),
        ("CONTACT: DAVID STONE, CEO", ["DAVID STONE"]),
        ("BILL PAYMENT", []),  # words, too
        ("JOHN AND MARY", []),
        ("EMMA WON THE PRIZE", []),
        ("KING JAMES BIBLE", []),
        ("John Smith", []),  # not in capitals
    ],
)
def test_names_in_capitals(text: str, names: list[str]) -> None:
    assert [text[start:end] for start, end in PEOPLE.in_capitals(text)] == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ask Ms. Young or Prof. J. Stone.", ("Young", "Stone")),
        ("Mr President saw Miss World and Dr. King's house.", ("King",)),
        ("Mr Trade Commissioner, Mr Attorney General, Mr Customer", ()),
    ],
)
def test_surnames_behind_titles(text: str, names: tuple[str, ...]) -> None:
    assert PEOPLE.titled(text) == names
