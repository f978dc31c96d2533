"""Is a sentence in the language it should be in? py3langid answers; counting common words first spares most sentences
the question, and most texts the loading of its model."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from fenster.language import Language, load_language

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
            code, sure = _identifier((source, target)).classify(text)
        else:
            code, sure = _identifier(()).classify(text)
        return str(code) if code != source and sure > _SURE else None


def detect_language(text: str, expected: tuple[str, ...]) -> tuple[str, float]:
    """(code of a text's language, its probability); one of the expected languages unless another is quite likely,
    since a few words could be in any language."""
    code, sure = _identifier(()).classify(text)
    if sure < _LIKELY and code not in expected:
        code, sure = _identifier(expected).classify(text)
    return str(code), float(sure)


def _common(language: Language) -> frozenset[str]:
    return frozenset(language.common_words)


@cache
def _identifier(codes: tuple[str, ...]) -> Any:
    """py3langid for some languages, or for all that it knows."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    if codes:
        identifier.set_languages(list(codes))
    return identifier
