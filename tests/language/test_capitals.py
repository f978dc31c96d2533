"""Text in capitals."""

from __future__ import annotations

import pytest

from fenster.language import load_language
from fenster.language.capitals import begun_as, capitals, is_capitals, small


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("DO NOT OPEN THE DOOR!", True),
        ("CHAPTER 3: THE END", True),
        ("NASA", False),
        ("NATO, WHO", False),  # acronyms
        ("Do NOT OPEN THE DOOR", False),
        ("12.5 %", False),
        ("", False),
    ],
)
def test_what_is_in_capitals(text: str, found: bool) -> None:
    assert is_capitals(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("WARNING", True),
        ("NO SMOKING!", True),
        ("CHAPTER IV", True),
        ("EXIT 2", True),
        ("NASA", False),
        ("IT", False),  # or it is one
        ("DE", False),
        ("Warning", False),
    ],
)
def test_short_texts_of_ordinary_words(text: str, found: bool) -> None:
    assert is_capitals(text, {"warning", "smoking", "chapter", "exit"}.__contains__) == found


def test_small_letters_as_a_sentence_has_them() -> None:
    assert small("“IF I GO, YOU’LL STAY”", load_language("en"), starts=True) == "“If I go, you’ll stay”"
    assert small(" OR I STAY", load_language("en"), starts=False) == " or I stay"
    assert small("12 MEN", None, starts=True) == "12 Men"


def test_capitals_keep_their_length() -> None:
    text = "Große Straße, ŉ und ﬁ"
    assert capitals(text) == "GROẞE STRAẞE, ŉ UND ﬁ" and len(capitals(text)) == len(text)


@pytest.mark.parametrize(
    ("source", "text", "written"),
    [
        ("Add sugar.", "fügen Sie Zucker hinzu.", "Fügen Sie Zucker hinzu."),
        ("add sugar.", "fügen Sie Zucker hinzu.", "fügen Sie Zucker hinzu."),
        ("Buy iPhones.", "iPhones kaufen.", "iPhones kaufen."),
        ("Run foo_bar now.", "foo_bar ausführen.", "foo_bar ausführen."),
        ("“Yes.”", "„ja.“", "„ja.“"),
        ("Her father came.", "er kam.", "Er kam."),
        ("Kilometres per hour", "km/h", "km/h"),
        ("Yes", "", ""),
    ],
)
def test_sentences_begin_as_their_source_does(source: str, text: str, written: str) -> None:
    assert begun_as(text, source) == written
