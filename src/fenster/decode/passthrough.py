"""The part of a segment that the model reads.

Characters without a piece of their own are spelt in bytes, and a model that has hardly seen them garbles them. Such
symbols are mostly at the edges of a sentence (♪, emoji, bullets): there they are copied, with the punctuation that
ends a sentence after them, and the model does not see them. A segment without any word that has a piece (only emoji,
or a script that the model does not know) is copied, and so is one without any letter: a rule, a figure, dots. Inside
a sentence everything stays as it is.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Set
from typing import NamedTuple

_STOPS = ".!?…"


class Passthrough(NamedTuple):
    """A segment in three parts that together are its text."""

    prefix: str
    text: str
    """What is translated; if it is empty the segment is copied."""
    suffix: str

    @property
    def is_copied(self) -> bool:
        return not self.text


def split_passthrough(text: str, characters: Set[str]) -> Passthrough:
    """`text` (normalised) as a model reads it whose tokenizer has pieces for `characters`."""
    if not any(character.isalpha() for character in text):
        return Passthrough(text, "", "")
    if set(text) <= characters:
        return Passthrough("", text, "")
    if not any(character in characters and character not in _STOPS and character != " " for character in text):
        return Passthrough(text, "", "")
    first, last = 0, len(text)
    while text[first] == " " or _is_unknown_symbol(text[first], characters):
        first += 1
    while True:
        before_stops = len(text[:last].rstrip(_STOPS))
        if _is_unknown_symbol(text[before_stops - 1], characters):
            last = before_stops - 1
        elif text[last - 1] == " ":
            last -= 1
        else:
            return Passthrough(text[:first], text[first:last], text[last:])


def _is_unknown_symbol(character: str, characters: Set[str]) -> bool:
    """True for symbols, marks and invisible characters without a piece."""
    return character not in characters and unicodedata.category(character)[0] in "SMC"
