"""Batches: examples packed end to end, without padding.

All sequences of a side are in one array `[tokens]` with offsets `[B + 1]`, so no position is wasted whatever
the lengths are, and a window never needs to know where a row would have ended. docs/architecture.md says why
this layout was chosen for the whole system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from fenster.data.examples import Example, ExampleIndex, ExampleSide
from fenster.data.tokenizer import BOD_ID, EOS_ID, SEP_ID, Longs

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class PackedSide:
    """One side of a batch. Sequence b is `ids[offsets[b] : offsets[b + 1]]`."""

    ids: Ints  # [tokens]
    offsets: Ints  # [B + 1]
    sentence: Ints  # [tokens] sentence index within the sequence
    starts: Ints  # [sentences + B] start of each sentence within its sequence, then the sequence's length
    start_offsets: Ints  # [B + 1] sequence b has starts[start_offsets[b] : start_offsets[b + 1]]

    @classmethod
    def pack(cls, sides: Sequence[ExampleSide]) -> PackedSide:
        return cls(
            np.concatenate([side.ids for side in sides]),
            _offsets([len(side.ids) for side in sides]),
            np.concatenate([side.sentence for side in sides]),
            np.concatenate([side.starts for side in sides]),
            _offsets([len(side.starts) for side in sides]),
        )

    @property
    def tokens(self) -> int:
        return len(self.ids)

    @property
    def longest(self) -> int:
        return int(np.diff(self.offsets).max(initial=0))

    @property
    def longest_sentence(self) -> int:
        return int(np.diff(self.starts).max(initial=0))  # from one sequence to the next it is never above 0


@dataclass(frozen=True)
class Batch:
    """Examples side by side; `numbers` are their numbers in the ExampleIndex they came from."""

    source: PackedSide
    target: PackedSide
    numbers: Longs

    @classmethod
    def pack(cls, examples: Sequence[Example], numbers: Sequence[int] | Longs) -> Batch:
        return cls(
            PackedSide.pack([example.source for example in examples]),
            PackedSide.pack([example.target for example in examples]),
            np.asarray(numbers, dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.numbers)

    @classmethod
    def read(cls, index: ExampleIndex, numbers: Longs) -> Batch:
        """The same as packing `index.example(n)` for each number, all at once: what training uses."""
        return cls(_gather(index, numbers, "source"), _gather(index, numbers, "target"), numbers)


def _gather(index: ExampleIndex, numbers: Longs, name: Literal["source", "target"]) -> PackedSide:
    shard, bod = index.shard[numbers], index.bod[numbers].astype(np.int64)
    units = index.count[numbers] + bod  # [B] sentences of each example, `<bod>` being one
    example = np.repeat(np.arange(len(numbers)), units)  # [U]
    sentence_index = _within(units)  # [U] which sentence of its example
    is_bod = (sentence_index == 0) & (bod[example] == 1)
    sentence = index.first[numbers][example] + sentence_index - bod[example]  # [U] within the shard

    begin, length = np.zeros(len(example), np.int64), np.ones(len(example), np.int64)  # [U] tokens, no end symbol
    for number in np.unique(shard):
        mine = (shard[example] == number) & ~is_bod
        starts = getattr(index.shards[number], name).starts
        begin[mine] = starts[sentence[mine]]
        length[mine] = starts[sentence[mine] + 1] - begin[mine]

    ends = np.cumsum(length + 1)
    starts_out = ends - length - 1
    offsets = _offsets(np.add.reduceat(length + 1, np.cumsum(units) - units))
    ids = np.full(int(ends[-1]), SEP_ID, dtype=np.int32)
    ids[offsets[1:] - 1] = EOS_ID
    ids[starts_out[is_bod]] = BOD_ID
    for number in np.unique(shard):
        mine = (shard[example] == number) & ~is_bod
        inside = _within(length[mine])
        taken = getattr(index.shards[number], name).ids[np.repeat(begin[mine], length[mine]) + inside]
        ids[np.repeat(starts_out[mine], length[mine]) + inside] = taken

    # Each example's sentence starts, then its length: one more entry than it has sentences.
    starts = np.empty(len(example) + len(numbers), dtype=np.int32)
    closing = np.cumsum(units + 1) - 1
    opening = np.ones(len(starts), dtype=bool)
    opening[closing] = False
    starts[opening] = starts_out - offsets[example]
    starts[closing] = np.diff(offsets)
    return PackedSide(
        ids, offsets, np.repeat(sentence_index, length + 1).astype(np.int32), starts, _offsets(units + 1)
    )


def _within(sizes: Longs) -> Longs:
    """[2, 3] -> [0, 1, 0, 1, 2]: the place of each item within its group."""
    return np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _offsets(lengths: Sequence[int] | Longs) -> Ints:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
