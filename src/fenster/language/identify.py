"""Is a sentence in the language it should be in? py3langid answers; counting common words first spares most sentences
the question, and most texts the loading of its model."""

from __future__ import annotations

import re

from fenster.language import Language, load_language
from fenster.language.langid import among, identifier

_WORD = re.compile(r"[^\W\d_]+")
_FEWEST_WORDS = 3  # less text says too little
# Of 22,328 English development sentences one is taken for German; 73 % (chat) to 98 % (parliament) of the German ones
# are recognised.
_SURE = 0.99
_LIKELY = 0.9


class LanguageCheck:
    """Checks text that should be in `source` and might be in `target` already."""

    def __init__(self, source: str, target: str) -> None:
        self._codes = source, target
        ours, theirs = (_common(load_language(code)) for code in self._codes)
        self._ours, self._theirs = ours - theirs, theirs - ours

    def other(self, text: str) -> str | None:
        """The language that a sentence is in, if it is surely not the source language; None if it may be."""
        words = [word.lower() for word in _WORD.findall(text)]
        ours, theirs = (sum(word in common for word in words) for common in (self._ours, self._theirs))
        if len(words) < _FEWEST_WORDS or ours > theirs or (ours and not theirs):
            return None
        source, target = self._codes
        if theirs:
            code, sure = among(text, (source, target))
        else:
            code, sure = identifier().classify(text)
        return str(code) if code != source and sure > _SURE else None


def detect_language(text: str, expected: tuple[str, ...]) -> tuple[str, float]:
    """(code of a text's language, its probability); one of the expected languages unless another is quite likely,
    since a few words could be in any language."""
    code, sure = identifier().classify(text)
    if sure < _LIKELY and code not in expected:
        code, sure = among(text, expected)
    return str(code), float(sure)


def _common(language: Language) -> frozenset[str]:
    return frozenset(language.common_words)
