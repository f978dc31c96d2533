"""Where sequences lie in a packed tensor `[tokens, …]`: the torch side of `batch.PackedSide`.

Everything in the model works on packed tensors: no position is padding, whatever the lengths are. What a part
needs to know about the layout (which sequence, position and sentence a token belongs to) is here, computed once
per batch and shared by all layers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.data.batch import PackedSide


@dataclass(frozen=True)
class Layout:
    """B sequences one after the other; sequence b is rows offsets[b] : offsets[b + 1]."""

    offsets: Tensor  # [B + 1] int64
    sequence_id: Tensor  # [tokens] int64, which sequence
    position: Tensor  # [tokens] int64, position within it, from 0
    sentence: Tensor  # [tokens] int64, sentence index within it
    starts: Tensor  # [B, N + 1] int64, start of each sentence; beyond a sequence's last: its length
    longest: int  # plain numbers, so that the device need not be asked: no sequence is longer than this,
    longest_sentence: int  # and no sentence than this
    document_offset: Tensor | None = None  # [B] int64, tokens of its document before a sequence; None: none

    @classmethod
    def of(cls, side: PackedSide, device: torch.device | str = "cpu") -> Layout:
        lengths = np.diff(side.offsets)
        if not len(lengths) or lengths.min() < 1:
            raise ValueError(f"a batch needs sequences of at least one token, but has lengths {lengths.tolist()}")
        counts = np.diff(side.start_offsets)  # sentences + 1
        starts = np.repeat(lengths[:, None], counts.max(initial=1), axis=1).astype(np.int64)
        starts[np.arange(starts.shape[1]) < counts[:, None]] = side.starts
        sequence_id = np.repeat(np.arange(len(lengths)), lengths)
        arrays = (
            side.offsets,
            sequence_id,
            np.arange(side.tokens) - side.offsets[:-1][sequence_id],
            side.sentence,
            starts,
        )
        offsets, sequence_ids, position, sentence, padded = (
            torch.from_numpy(array.astype(np.int64)).to(device, non_blocking=True) for array in arrays
        )
        return cls(offsets, sequence_ids, position, sentence, padded, side.longest, side.longest_sentence)

    @classmethod
    def from_sentence_lengths(
        cls,
        lengths: Sequence[Sequence[int]],
        device: torch.device | str = "cpu",
        document_offset: Sequence[int] | None = None,
    ) -> Layout:
        """From sentence lengths (end symbols included), a list for each sequence."""
        if not lengths:
            raise ValueError("a batch needs at least one sequence")
        totals = [sum(sizes) for sizes in lengths]
        starts = [np.concatenate([[0], np.cumsum(sizes)]) for sizes in lengths]
        side = PackedSide(
            np.zeros(sum(totals), np.int32),
            np.concatenate([[0], np.cumsum(totals)]).astype(np.int32),
            np.concatenate([np.repeat(np.arange(len(sizes)), sizes) for sizes in lengths]).astype(np.int32),
            np.concatenate(starts).astype(np.int32),
            np.concatenate([[0], np.cumsum([len(start) for start in starts])]).astype(np.int32),
        )
        layout = cls.of(side, device)
        return (
            layout
            if document_offset is None
            else replace(layout, document_offset=torch.tensor(document_offset, device=device))
        )

    def map(self, apply: Callable[[Tensor], Tensor]) -> Layout:
        """The same with a function applied to every tensor, such as a move to a device."""
        return Layout(
            apply(self.offsets),
            apply(self.sequence_id),
            apply(self.position),
            apply(self.sentence),
            apply(self.starts),
            self.longest,
            self.longest_sentence,
            None if self.document_offset is None else apply(self.document_offset),
        )

    def padded_to(self, sequences: int, starts: int, longest: int, longest_sentence: int) -> Layout:
        """The same meaning in other shapes: empty sequences behind the last, their lengths as further starts."""
        more = sequences - self.sequences
        wider = self.lengths[:, None].expand(-1, starts - self.starts.shape[1])
        return replace(
            self,
            offsets=torch.cat([self.offsets, self.offsets[-1:].expand(more)]),
            starts=F.pad(torch.cat([self.starts, wider], 1), (0, 0, 0, more)),
            longest=longest,
            longest_sentence=longest_sentence,
            document_offset=None if self.document_offset is None else F.pad(self.document_offset, (0, more)),
        )

    def bucketed(self) -> Layout:
        """The same in tensors of recurring sizes, with unused sequences and tokens at the end."""
        more = round_up_to_bucket(self.tokens) - self.tokens
        document_offset = (
            self.offsets.new_zeros(self.sequences) if self.document_offset is None else self.document_offset
        )
        layout = replace(self, document_offset=document_offset).padded_to(
            round_up_to_bucket(self.sequences),
            round_up_to_bucket(self.starts.shape[1]),
            round_up_to_bucket(self.tokens),
            round_up_to_bucket(self.tokens),
        )
        sequence_id, position, sentence = (
            F.pad(x, (0, more)) for x in (self.sequence_id, self.position, self.sentence)
        )
        return replace(layout, sequence_id=sequence_id, position=position, sentence=sentence)

    @property
    def document_position(self) -> Tensor:  # [tokens]
        """Positions in the whole documents that the sequences are parts of."""
        return (
            self.position if self.document_offset is None else self.position + self.document_offset[self.sequence_id]
        )

    @property
    def lengths(self) -> Tensor:  # [B]
        return self.offsets.diff()

    @property
    def sequences(self) -> int:
        return len(self.offsets) - 1

    @property
    def tokens(self) -> int:
        return len(self.sequence_id)

    @property
    def is_rectangular(self) -> bool:
        """True if all sequences have one length, so that a view can put them side by side."""
        return self.sequences * self.longest == self.tokens


def power_of_two(number: int) -> int:
    """The next one, or the number itself."""
    return 1 << (number - 1).bit_length()


def round_up_to_bucket(size: int) -> int:
    """The next of few sizes, 16, 24, 32, 48, 64, …: for tensors whose shapes should recur."""
    power = max(16, power_of_two(size))
    between = power * 3 // 4
    return between if 16 < size <= between else power


def pad(x: Tensor, layout: Layout) -> Tensor:
    """[tokens, …] -> [B, longest, …], zeros beyond each end. For backends that know no packing."""
    if not layout.is_rectangular:
        rows = layout.sequence_id * layout.longest + layout.position
        x = x.new_zeros(layout.sequences * layout.longest, *x.shape[1:]).index_copy(0, rows, x)
    return x.view(layout.sequences, layout.longest, *x.shape[1:])


def unpad(x: Tensor, layout: Layout) -> Tensor:
    """[B, longest, …] -> [tokens, …], the inverse of `pad`."""
    flat = x.flatten(0, 1)
    return (
        flat if layout.is_rectangular else flat.index_select(0, layout.sequence_id * layout.longest + layout.position)
    )
