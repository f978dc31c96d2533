"""Versions of training documents that teach a model its symbols: placeholders for protected text, and registers.

What a version holds depends on the document's name and the seed only, not on the number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from fenster.data.prepare.config import AugmentConfig
from fenster.data.tokenizer import Ids, Longs, Tokenizer
from fenster.errors import ConfigError
from fenster.language import REGISTERS, Register, load_language
from fenster.language.protect import Protector
from fenster.language.register import RegisterCounter

_NEUTRAL_MARKED = (
    0.3  # documents without any form of address that get a symbol all the same: it changes nothing there
)
_UNMARKED = 0.2  # sentences without a form of address, in a document with a register, that get no symbol


class Augmenter:
    def __init__(self, config: AugmentConfig, languages: tuple[str, str], tokenizer: Tokenizer) -> None:
        if not tokenizer.placeholders:
            raise ConfigError(
                "the tokenizer has no symbols for protected text, which augment.versions needs",
                fix="learn one with tokenizer.symbols: true, or set augment.versions: 0",
            )
        source, target = map(load_language, languages)
        self._config, self._tokenizer = config, tokenizer
        self._protector, self._counter = Protector(source, target), RegisterCounter(source, target)

    def encode(
        self, source: Sequence[str], target: Sequence[str], sizes: Sequence[int], names: Sequence[str], version: int
    ) -> tuple[tuple[Ids, Longs], tuple[Ids, Longs]]:
        """The ids of some documents in one augmented version."""
        sources, targets = self._tokenizer.encode_each(source), self._tokenizer.encode_each(target)
        begin = 0
        for size, name in zip(sizes, names, strict=True):
            rng = Random(f"{self._config.seed} {version} {name}")
            here = range(begin, begin + size)
            for number in here:
                if rng.random() < self._config.spans:
                    pair = self._protector.pair(source[number], target[number], rng, self._config.names)
                    if pair is not None:
                        sources[number], targets[number] = map(self._tokenizer.encode_marked, pair)
            for number, register in zip(here, self._registers(source, target, here, rng), strict=True):
                if register is not None:
                    symbol = np.array([self._tokenizer.registers[register]], dtype=self._tokenizer.dtype)
                    sources[number] = np.concatenate([symbol, sources[number]])
            begin += size
        return _joined(sources), _joined(targets)

    def _registers(
        self, source: Sequence[str], target: Sequence[str], here: range, rng: Random
    ) -> list[Register | None]:
        """The symbol of each sentence of a document. A sentence without forms of address gets that of its document,
        so that a whole document can be marked when it is translated."""
        if rng.random() >= self._config.registers:
            return [None] * len(here)
        own = [self._counter.register(source[number], target[number]) for number in here]
        formal, informal = own.count("formal"), own.count("informal")
        if formal == informal == 0:
            random = rng.choice(REGISTERS) if rng.random() < _NEUTRAL_MARKED else None
            return [random] * len(here)
        majority: Register = "formal" if formal >= informal else "informal"
        return [one or (None if rng.random() < _UNMARKED else majority) for one in own]


def _joined(sentences: Sequence[Ids]) -> tuple[Ids, Longs]:
    return np.concatenate(sentences), np.array([len(ids) for ids in sentences], dtype=np.int64)
