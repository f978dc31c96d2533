"""What is given of a target, and where cross-attention looks, for the compiled library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fenster.data.tokenizer import Longs
from fenster.model.attention.alignment import Alignment, OneSequence
from fenster.model.compiled.structures import Array, Target, int32, pointer
from fenster.model.config import ModelConfig


@dataclass(frozen=True)
class TargetLimits:
    """How many tokens a search may produce."""

    sentences: int
    tokens: int
    """Of the longest sentence, end symbol left out."""
    total: int
    """Of all sentences, end symbols included."""


@dataclass(frozen=True)
class TargetSequence:
    """Decoder inputs `inputs`; the sentences of what they predict start at `begins`, and the last of these is their
    number. As much of a `Layout` as alignments need, of a single sequence in numpy."""

    inputs: Longs  # [T]
    begins: Longs  # [N + 1]
    offset: int = 0

    @classmethod
    def before(cls, inputs: Longs, lengths: Sequence[int], offset: int) -> TargetSequence:
        """Of given sentences of these lengths, end symbols left out, with the token to come as the last sentence."""
        sizes = [*(length + 1 for length in lengths), 1]
        return cls(inputs, np.concatenate([[0], np.cumsum(sizes)]), offset)

    @property
    def starts(self) -> Longs:
        return self.begins[None]

    @property
    def lengths(self) -> Longs:
        return self.begins[-1:]

    @property
    def document_offset(self) -> Longs:
        return np.array([self.offset])

    @property
    def position(self) -> Longs:
        return np.arange(len(self.inputs))

    @property
    def sequence_id(self) -> Longs:
        return np.zeros(len(self.inputs), dtype=np.int64)

    @property
    def sentence(self) -> Longs:
        return np.repeat(np.arange(len(self.begins) - 1), np.diff(self.begins))

    @property
    def document_position(self) -> Longs:
        return self.position + self.offset

    def structure(
        self, centers: Array | None, ahead: Array | None = None, by_sentence: bool = False
    ) -> tuple[Target, list[Array | None]]:
        """For the library, and what it points to. `centers` [T] are those of these tokens, `ahead` [rows, columns]
        those of tokens to come, by sentence or in one row."""
        kept = [int32(self.inputs), int32(self.begins), *(None if x is None else int32(x) for x in (centers, ahead))]
        inputs, begins, here, later = kept
        rows, columns = (0, 0) if later is None else later.shape
        target = Target(
            *(pointer(inputs), pointer(begins), len(self.inputs), len(self.begins) - 1, self.offset),
            *(pointer(here), pointer(later), rows, columns, by_sentence),
        )
        return target, kept

    def searched(
        self, source: OneSequence, alignment: Alignment | None, limits: TargetLimits
    ) -> tuple[Target, list[Array | None]]:
        """The structure for a search that continues these tokens."""
        if alignment is None:
            return self.structure(None)
        first = self.position[-1]
        tokens = limits.tokens + 1 if alignment.by_sentence else limits.total
        ahead = alignment.ahead(source, len(self.begins) - 2, int(first) + self.offset, limits.sentences, tokens)
        return self.structure(alignment.prefix(source, self), ahead, alignment.by_sentence)

    def needed_source(self, source: OneSequence, alignment: Alignment | None, config: ModelConfig) -> int:
        """How many tokens at the end of the source cross-attention can see from now on."""
        window, length = config.variant.window, int(source.begins[-1])
        if window is None or alignment is None:
            return length
        # The first target token whose cross-attention still matters.
        row = max(0, len(self.inputs) - 1 - (config.decoder_layers - 1) * window)
        start = int(source.begins[min(int(self.sentence[row]), len(source.begins) - 1)]) + source.offset
        lowest = alignment.lowest(row + self.offset, start) - source.offset
        return min(length, window + length - min(max(lowest, 0), length - 1))
