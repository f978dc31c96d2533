"""Which characters of a text a model can be trusted with. A vocabulary also has characters that training hardly ever
showed: of the bundled model's 330 outside of ASCII 240 always come out as something else, © as ≥ and £ as €
(experiments/characters.py)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from fenster.language import Language

_USUAL = frozenset("‘’‚‛“”„‟«»–—―…•§°²×÷→€")
_KINDS = ("Cf", "Mn", "Zs")  # invisible ones; accents; spaces


INVISIBLE = str.maketrans(
    dict.fromkeys("\u00ad\u200b\u2060\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    | {"‐": "-", "‑": "-", "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl"}
)
"""Hyphens, spaces and marks of direction that only typesetting needs, its other hyphens, and ligatures: what a
model should read instead."""


def usual_characters(vocabulary: Iterable[str], language: Language | None) -> frozenset[str]:
    """Those of a vocabulary's characters that may be translated: ASCII, the usual punctuation, and letters that the
    source language often borrows; all of them if that is not known."""
    if language is None or language.foreign_letters is None:
        return frozenset(vocabulary)
    return frozenset(one for one in vocabulary if _is_usual(one, language.foreign_letters))


def _is_usual(character: str, letters: str) -> bool:
    if character.isascii() or character in _USUAL or unicodedata.category(character) in _KINDS:
        return True
    return character in letters
