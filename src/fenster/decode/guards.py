"""What is wrong with a translation, as far as its text shows. Each problem has a short name, which JSONL output and
summaries use; PROBLEMS explains them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fenster.data.tokenizer import Ids, Tokenizer
from fenster.decode.piece import Piece
from fenster.decode.search import Hypothesis
from fenster.decode.strategies.base import without_symbols
from fenster.language import REGISTERS, Register
from fenster.language.numbers import NumberConverter
from fenster.language.protected_text import visible
from fenster.language.register import RegisterCounter

_NUMBER = re.compile(r"\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)|\d+(?:[.,\u00a0\u202f]\d+)*")
_WORD = re.compile(r"\w+")
_LONG = 2.5  # times the words of the source, and _EXTRA
_SHORT = 0.3
_EXTRA = 8  # words: short sentences vary more
_REPEATS = 4  # of one to four words in a row
_REPETITION = re.compile(r"\b((?:[^\W\d]\w*\W+){1,4}?)\1{" + str(_REPEATS - 1) + r",}", re.IGNORECASE)
_DOUBLED = re.compile(r"(?<![\w-])(?P<word>\w{4,}) (?P=word)(?![\w-])")
_COPIED_WORDS = 4
_LONG_FIGURE = 3  # digits
UNSURE = -0.9  # log-probability per token; experiments/guards.py says how often
# The source tokens that no word of the translation looks at: fewer than this in 99 of 100 translations, more in most
# of those with half of their words or of another sentence (experiments/guards.py). Looking costs a pass through the
# model, so only translations that are rather short or rather unlikely are looked at.
_LOOKED_AT = 0.1  # the largest weight that a source token gets
_MOST_MISSED = 0.35
_FEWEST_WORDS = 6
_RATHER_SHORT = 0.7
_RATHER_UNLIKELY = -0.6

Attention = Callable[[Ids, Ids], npt.NDArray[np.floating[Any]]]
"""[target, source] of a sentence and its translation."""


class Checker:
    """Checks hypotheses; without a `counter` registers are not checked."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        counter: RegisterCounter | None,
        converter: NumberConverter | None,
        letters: str | None,
        attention: Attention,
    ) -> None:
        """`letters` beyond ASCII that the target language has; None if they are not known."""
        self._tokenizer, self._counter, self._converter, self._letters = tokenizer, counter, converter, letters
        self._attention = attention

    def problems(self, piece: Piece, hypothesis: Hypothesis) -> tuple[str, ...]:
        text = visible(self._tokenizer.decode_marked(without_symbols(hypothesis)))
        names = problems(piece.text.visible, text, self._converter, self._letters)
        names += ("names",) * bool(piece.missing_names(text))
        if self._counter is not None and piece.register is not None:
            wrong = self._counter.counts(piece.text.visible, text)[other_register(piece.register)]
            names += ("register",) * bool(wrong)
        here, there = len(_WORD.findall(piece.text.visible)), len(_WORD.findall(text))
        doubtful = there < _RATHER_SHORT * here or hypothesis.logprob < _RATHER_UNLIKELY * len(hypothesis.ids)
        if here >= _FEWEST_WORDS and there and doubtful:
            names += ("coverage",) * (
                missed(self._attention(piece.source, without_symbols(hypothesis))) > _MOST_MISSED
            )
        return names


def missed(attention: npt.NDArray[np.floating[Any]]) -> float:
    """The share of source tokens that no target token looks at; `attention` is [target, source]."""
    return float((attention.max(0) < _LOOKED_AT).mean())


def other_register(register: Register) -> Register:
    return next(one for one in REGISTERS if one != register)


def problems(
    source: str, target: str, converter: NumberConverter | None = None, letters: str | None = None
) -> tuple[str, ...]:
    """Names of what is wrong with the translation of a sentence; both without their protected spans. A `converter`
    knows which numbers are the same in another notation; `letters` beyond ASCII are usual in the translation."""
    here, there = len(_WORD.findall(source)), len(_WORD.findall(target))
    numbers = (source, target) if converter is None else converter.without_equals(source, target)
    words = any(word.islower() for word in _WORD.findall(source))
    checks = {
        "numbers": missing_numbers(*numbers) or doubled_numbers(source, target),
        "characters": "\ufffd" in target or (letters is not None and strange_letters(source, target, letters)),
        "repetition": (repeats(target) and not repeats(source)) or (doubles(target) and not doubles(source)),
        "length": there > _LONG * here + _EXTRA or there < _SHORT * here - 2,
        "copy": source == target and here >= _COPIED_WORDS and words,
    }
    return tuple(name for name, wrong in checks.items() if wrong)


def missing_numbers(source: str, target: str) -> bool:
    """True if figures of the source are not in the target. Figures that only the target has may be words there."""
    return bool(_numbers(source) - _numbers(target))


def doubled_numbers(source: str, target: str) -> bool:
    """True if a long figure is in the target more often than in the source."""
    here = _numbers(source)
    return any(count > here[number] > 0 for number, count in _numbers(target).items() if len(number) >= _LONG_FIGURE)


def strange_letters(source: str, target: str, usual: str) -> bool:
    """True if the target has letters that neither its language nor the source has: a name that became nonsense."""
    known = {*usual, *source, *unicodedata.normalize("NFKC", source)}
    return any(one.isalpha() and not one.isascii() for one in set(target) - known)


def repeats(text: str) -> bool:
    """True if one to four words are repeated over and over."""
    return _REPETITION.search(text + " ") is not None


def doubles(text: str) -> bool:
    """True if a word of some length stands there twice in a row."""
    return _DOUBLED.search(text) is not None


def _numbers(text: str) -> Counter[str]:
    return Counter(re.sub(r"\D", "", match) for match in _NUMBER.findall(text))
