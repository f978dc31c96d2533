"""A batch as tensors, as it is or padded to one of a few shapes so that CUDA graphs can be replayed.

Padding is whole sequences of `<pad>` behind the real ones, which attend only to themselves and whose targets do not
count in the loss; results for real tokens are unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from fenster.data.batch import Batch, PackedSide
from fenster.data.tokenizer import PAD_ID
from fenster.model.layout import Layout, power_of_two

_SENTENCE = 256  # tokens that every shape has room for in a sentence: more, so that fewer shapes occur


@dataclass(frozen=True)
class Inputs:
    source_ids: Tensor  # [S]
    target_ids: Tensor  # [T]
    source: Layout
    target: Layout
    tokens: int  # real target tokens
    batch: Batch  # where it came from

    @classmethod
    def of(cls, batch: Batch, pad_multiple: int | None = None) -> Inputs:
        """On the CPU; with `pad_multiple`, padded so that few shapes occur: token counts to multiples of it."""
        source, target = batch.source, batch.target
        tokens = target.tokens
        if pad_multiple is None:
            return cls(_ids(source), _ids(target), Layout.of(source), Layout.of(target), tokens, batch)
        sides, longest = (source, target), [power_of_two(side.longest) for side in (source, target)]
        room = [-side.tokens % pad_multiple for side in sides]
        # As many padding sequences on both sides, none longer than a real one may be.
        while (count := max(-(-r // most) for r, most in zip(room, longest, strict=True))) > min(room):
            room = [r + pad_multiple if r < count else r for r in room]
        inside = [
            min(r, max(_SENTENCE, power_of_two(s.longest_sentence))) for s, r in zip(sides, longest, strict=True)
        ]
        source, target = (_extended(side, r, count, i) for side, r, i in zip(sides, room, inside, strict=True))
        sequences = power_of_two(len(batch) + count)
        sentences = power_of_two(int(max(np.diff(side.start_offsets).max() for side in (source, target))))
        return cls(
            _ids(source),
            _ids(target),
            Layout.of(source).padded_to(sequences, sentences, longest[0], inside[0]),
            Layout.of(target).padded_to(sequences, sentences, longest[1], inside[1]),
            tokens,
            batch,
        )

    @property
    def shape(self) -> tuple[object, ...]:
        """The same for inputs that one graph can serve."""
        sides = (self.source, self.target)
        return tuple(part for side in sides for part in _sizes(side))

    def map(self, apply: Callable[[Tensor], Tensor]) -> Inputs:
        return replace(
            self,
            source_ids=apply(self.source_ids),
            target_ids=apply(self.target_ids),
            source=self.source.map(apply),
            target=self.target.map(apply),
        )

    def to(self, device: torch.device) -> Inputs:
        return self if device.type == "cpu" else self.map(lambda x: x.to(device, non_blocking=True))

    def copy_into(self, other: Inputs) -> None:
        """Write these values over those of inputs of the same shape, elsewhere."""
        for mine, theirs in zip(self.tensors(), other.tensors(), strict=True):
            theirs.copy_(mine, non_blocking=True)

    def tensors(self) -> list[Tensor]:
        tensors: list[Tensor] = []

        def keep(x: Tensor) -> Tensor:
            tensors.append(x)
            return x

        self.map(keep)
        return tensors


def _ids(side: PackedSide) -> Tensor:
    return torch.from_numpy(side.ids.astype(np.int64))


def _sizes(side: Layout) -> tuple[object, ...]:
    return side.tokens, tuple(side.starts.shape), side.longest, side.longest_sentence


def _extended(side: PackedSide, room: int, count: int, most: int) -> PackedSide:
    """`count` sequences behind the others, `room` tokens in all, in sentences of at most `most` tokens."""
    if not count:
        return side
    lengths = np.full(count, room // count)
    lengths[: room % count] += 1
    starts = [np.append(np.arange(0, length, most), length) for length in lengths]
    counts = [len(sequence_starts) for sequence_starts in starts]
    return PackedSide(
        np.concatenate([side.ids, np.full(room, PAD_ID, np.int32)]),
        np.concatenate([side.offsets, side.offsets[-1] + np.cumsum(lengths)]).astype(np.int32),
        np.concatenate([side.sentence, *(np.arange(length) // most for length in lengths)]).astype(np.int32),
        np.concatenate([side.starts, *starts]).astype(np.int32),
        np.append(side.start_offsets, side.start_offsets[-1] + np.cumsum(counts)).astype(np.int32),
    )
