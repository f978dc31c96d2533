"""Sentences of plain text."""

from __future__ import annotations

import pytest

from fenster.data.sentence_split import sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use approx. 5 litres of water, incl. tax.", ["Use approx. 5 litres of water, incl. tax."]),
        ("Add 2 tbsp. butter. Stir.", ["Add 2 tbsp. butter.", "Stir."]),
        ("See no. {0} in the list.", ["See no. {0} in the list."]),
        ("Take 2 tabs. Then rest.", ["Take 2 tabs.", "Then rest."]),  # a capital begins a sentence
        ("I use iOS. macOS is better.", ["I use iOS.", "macOS is better."]),
        ("The value is 5. 6 people came.", ["The value is 5.", "6 people came."]),
    ],
)
def test_abbreviations_end_no_sentence(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_languages_without_conventions_are_split_too() -> None:
    assert sentences("Il pleut. Il neige.", "fr") == ["Il pleut.", "Il neige."]
