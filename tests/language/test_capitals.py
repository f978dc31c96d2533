"""Text in capitals."""

from __future__ import annotations

import pytest

from fenster.language import load_language
from fenster.language.capitals import capitals, is_capitals, small


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


def test_small_letters_as_a_sentence_has_them() -> None:
    assert small("“IF I GO, YOU’LL STAY”", load_language("en"), starts=True) == "“If I go, you’ll stay”"
    assert small(" OR I STAY", load_language("en"), starts=False) == " or I stay"
    assert small("12 MEN", None, starts=True) == "12 Men"


def test_capitals_keep_their_length() -> None:
    text = "Große Straße, ŉ und ﬁ"
    assert capitals(text) == "GROẞE STRAẞE, ŉ UND ﬁ" and len(capitals(text)) == len(text)
