"""What of a segment a model reads.

Characters that have no piece of their own are spelt in bytes, of which a model that hardly saw them makes nonsense.
Symbols of that kind stand mostly at the ends of a sentence (♪, emoji, bullets): there they frame the translation as
they framed the source, with what ends a sentence after them, and the model does not see them. A segment without any
word that has a piece (only emoji, another script) is its own translation. Inside a sentence all stays as it is.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Set
from typing import NamedTuple

_STOPS = ".!?…"


class Frame(NamedTuple):
    """A segment in three parts that together are its text."""

    before: str
    core: str
    """What is translated; without it the segment stays as it is."""
    after: str


def framed(text: str, characters: Set[str]) -> Frame:
    """`text` (normalised) as a model reads it whose tokenizer has pieces for `characters`."""
    if set(text) <= characters:
        return Frame("", text, "")
    if not any(each in characters and each not in _STOPS and each != " " for each in text):
        return Frame(text, "", "")
    first, last = 0, len(text)
    while text[first] == " " or _strange(text[first], characters):
        first += 1
    while True:
        said = len(text[:last].rstrip(_STOPS))
        if _strange(text[said - 1], characters):
            last = said - 1
        elif text[last - 1] == " ":
            last -= 1
        else:
            return Frame(text[:first], text[first:last], text[last:])


def _strange(character: str, characters: Set[str]) -> bool:
    """Whether it is a symbol, a mark or invisible, without a piece."""
    return character not in characters and unicodedata.category(character)[0] in "SMC"
