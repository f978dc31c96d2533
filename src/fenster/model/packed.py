"""Where sequences lie in a packed tensor `[tokens, …]`: the torch side of `batch.PackedSide`.

Everything in the model works on packed tensors: no position is padding, whatever the lengths are. What a part
needs to know about the layout (which sequence, which place, which sentence a token is) is here, computed once
a batch and shared by all layers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.batch import PackedSide


@dataclass(frozen=True)
class Packed:
    """B sequences one after the other; sequence b is rows offsets[b] : offsets[b + 1]."""

    offsets: Tensor  # [B + 1] int64
    owner: Tensor  # [tokens] int64, which sequence
    position: Tensor  # [tokens] int64, place within it, from 0
    sentence: Tensor  # [tokens] int64, sentence index within it
    starts: Tensor  # [B, N + 1] int64, start of each sentence; beyond a sequence's last: its length
    longest: int  # plain numbers, so that no one has to ask the device: no sequence is longer than this,
    longest_sentence: int  # and no sentence than this
    before: Tensor | None = None  # [B] int64, tokens of its document that come before a sequence; None: none do

    @classmethod
    def of(cls, side: PackedSide, device: torch.device | str = "cpu") -> Packed:
        lengths = np.diff(side.offsets)
        if not len(lengths) or lengths.min() < 1:
            raise ValueError(f"a batch needs sequences of at least one token, but has lengths {lengths.tolist()}")
        counts = np.diff(side.start_offsets)  # sentences + 1
        starts = np.repeat(lengths[:, None], counts.max(initial=1), axis=1).astype(np.int64)
        starts[np.arange(starts.shape[1]) < counts[:, None]] = side.starts
        owner = np.repeat(np.arange(len(lengths)), lengths)
        arrays = (side.offsets, owner, np.arange(side.tokens) - side.offsets[:-1][owner], side.sentence, starts)
        offsets, owners, position, sentence, padded = (
            torch.from_numpy(array.astype(np.int64)).to(device, non_blocking=True) for array in arrays
        )
        return cls(offsets, owners, position, sentence, padded, side.longest, side.longest_sentence)

    @classmethod
    def of_sentences(
        cls,
        lengths: Sequence[Sequence[int]],
        device: torch.device | str = "cpu",
        before: Sequence[int] | None = None,
    ) -> Packed:
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
        packed = cls.of(side, device)
        return packed if before is None else replace(packed, before=torch.tensor(before, device=device))

    def each(self, apply: Callable[[Tensor], Tensor]) -> Packed:
        """The same with every tensor changed, such as moved to a device."""
        return Packed(
            apply(self.offsets),
            apply(self.owner),
            apply(self.position),
            apply(self.sentence),
            apply(self.starts),
            self.longest,
            self.longest_sentence,
            None if self.before is None else apply(self.before),
        )

    def roomy(self, sequences: int, starts: int, longest: int, longest_sentence: int) -> Packed:
        """The same meaning in other shapes: empty sequences behind the last, their lengths as further starts."""
        more = sequences - self.sequences
        wider = self.lengths[:, None].expand(-1, starts - self.starts.shape[1])
        return replace(
            self,
            offsets=torch.cat([self.offsets, self.offsets[-1:].expand(more)]),
            starts=F.pad(torch.cat([self.starts, wider], 1), (0, 0, 0, more)),
            longest=longest,
            longest_sentence=longest_sentence,
            before=None if self.before is None else F.pad(self.before, (0, more)),
        )

    def fixed(self) -> Packed:
        """The same in tensors of recurring sizes, with sequences and tokens at the end that nobody asks for."""
        more = recurring(self.tokens) - self.tokens
        before = self.offsets.new_zeros(self.sequences) if self.before is None else self.before
        layout = replace(self, before=before).roomy(
            recurring(self.sequences), recurring(self.starts.shape[1]), recurring(self.tokens), recurring(self.tokens)
        )
        owner, position, sentence = (F.pad(x, (0, more)) for x in (self.owner, self.position, self.sentence))
        return replace(layout, owner=owner, position=position, sentence=sentence)

    @property
    def place(self) -> Tensor:  # [tokens]
        """Places in the whole documents that the sequences are parts of."""
        return self.position if self.before is None else self.position + self.before[self.owner]

    @property
    def lengths(self) -> Tensor:  # [B]
        return self.offsets.diff()

    @property
    def sequences(self) -> int:
        return len(self.offsets) - 1

    @property
    def tokens(self) -> int:
        return len(self.owner)

    @property
    def even(self) -> bool:
        """Whether all sequences are of one length, so that they can be seen side by side as they lie."""
        return self.sequences * self.longest == self.tokens


def power_of_two(number: int) -> int:
    """The next one, or the number itself."""
    return 1 << (number - 1).bit_length()


def recurring(size: int) -> int:
    """The next of few sizes, 16, 24, 32, 48, 64, …: for tensors whose shapes should come again."""
    power = max(16, power_of_two(size))
    between = power * 3 // 4
    return between if 16 < size <= between else power


def pad(x: Tensor, packed: Packed) -> Tensor:
    """[tokens, …] -> [B, longest, …], zeros beyond each end. For computations that know no packing."""
    if not packed.even:
        rows = packed.owner * packed.longest + packed.position
        x = x.new_zeros(packed.sequences * packed.longest, *x.shape[1:]).index_copy(0, rows, x)
    return x.view(packed.sequences, packed.longest, *x.shape[1:])


def unpad(x: Tensor, packed: Packed) -> Tensor:
    """[B, longest, …] -> [tokens, …], the inverse of `pad`."""
    flat = x.flatten(0, 1)
    return flat if packed.even else flat.index_select(0, packed.owner * packed.longest + packed.position)
