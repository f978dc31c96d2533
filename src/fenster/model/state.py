"""Decode-time state: what a layer keeps of earlier tokens, one row for each hypothesis.

Windows keep only what can still be seen, so their state does not grow with the document. States are immutable:
`add` and `reorder` return new ones, and a beam search may keep old ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.model.packed import Packed, pad, recurring


@dataclass(frozen=True)
class Moment:
    """The tokens now being predicted, one for each of N hypotheses."""

    sequence: Tensor  # [N] which source sequence
    position: Tensor  # [N] place in the target, from 0
    sentence: Tensor  # [N] sentence index
    center: Tensor  # [N] aligned source place
    width: int = 0  # hypotheses of each source, side by side; 0 where that is not known


@dataclass(frozen=True)
class View:
    """Keys and values that N queries may look at: M slots each, one mask for every pattern of the module.

    Where `shared` neighbouring queries look at the same slots, there is one row for all of them: G = N / shared rows.
    """

    k: Tensor  # [G, H, M, D]
    v: Tensor  # [G, H, M, D]
    allowed: tuple[Tensor, ...]  # [G, M] bool each
    position: Tensor | None = None  # [N, M] of the slots, for relative positions
    shared: int = 1


class SelfState(ABC):
    """Self-attention: keys and values of the tokens so far."""

    @abstractmethod
    def add(self, k: Tensor, v: Tensor, now: Moment) -> SelfState:
        """With the keys and values [N, H, D] of the tokens at `now`."""

    @abstractmethod
    def fill(self, k: Tensor, v: Tensor, packed: Packed) -> SelfState:
        """An empty state with the keys and values [tokens, H, D] of a whole sequence for each hypothesis."""

    @abstractmethod
    def view(self, now: Moment) -> View: ...

    @abstractmethod
    def reorder(self, index: Tensor) -> SelfState: ...

    capacity: int | None
    """Tokens that the tensors have room for; None where new ones take the place of old ones."""

    @abstractmethod
    def fixed(self, more: int) -> SelfState:
        """The same in tensors whose shapes recur and do not change with new tokens, with room for `more` tokens at
        least than `capacity`: for CUDA graphs."""


class CrossState(ABC):
    """Cross-attention: keys and values of the source. Fixed, shared by all hypotheses of a sequence."""

    @abstractmethod
    def view(self, now: Moment) -> View: ...

    def narrow(self, keep: Tensor) -> CrossState:
        """Only sources `keep` are needed from now on; later moments have a `width` and no other sources."""
        return self

    @abstractmethod
    def fixed(self, source: Packed) -> CrossState:
        """The same in tensors whose shapes recur; `source` is the fixed layout."""


@dataclass(frozen=True)
class Growing(SelfState):
    """Keeps everything. `restricted` adds a second mask, same sentence only (LST)."""

    restricted: bool = False
    k: Tensor | None = None  # [M, N, H, D]
    v: Tensor | None = None
    place: Tensor | None = None  # [M, N, 2] position, -1 where empty, and sentence
    order: Tensor | None = None  # [N] rows that a reordering chose; carried out when the next token is added
    used: Tensor | None = None  # [1] slots that are filled, where there is room for more

    def add(self, k: Tensor, v: Tensor, now: Moment) -> Growing:
        new = (k, v, torch.stack([now.position, now.sentence], 1))
        if self.k is None or self.v is None or self.place is None:
            return Growing(self.restricted, *(x.unsqueeze(0) for x in new))
        index = self._index
        k, v, place = (self._joined(old, x, index) for old, x in zip((self.k, self.v, self.place), new, strict=True))
        return Growing(self.restricted, k, v, place, used=None if self.used is None else self.used + 1)

    @property
    def _index(self) -> Tensor | None:
        """[M * N] which row of all slots' rows goes where, where a reordering is to be carried out."""
        if self.order is None or self.place is None:
            return None
        slots, rows = self.place.shape[:2]
        return (torch.arange(0, slots * rows, rows, device=self.order.device)[:, None] + self.order).flatten()

    def _joined(self, before: Tensor, new: Tensor, index: Tensor | None) -> Tensor:
        """One copy for reordering and growing."""
        if self.used is not None:
            room = before.clone() if index is None else _moved(before, index)
            return room.index_copy_(0, self.used, new.unsqueeze(0))
        if index is None:
            return torch.cat([before, new.unsqueeze(0)])
        out = before.new_empty(len(before) + 1, *new.shape)
        torch.index_select(before.flatten(0, 1), 0, index, out=out[:-1].flatten(0, 1))
        out[-1] = new
        return out

    def fill(self, k: Tensor, v: Tensor, packed: Packed) -> Growing:
        slot = torch.arange(packed.longest, device=k.device)
        positions = torch.where(slot < packed.lengths[:, None], pad(packed.place, packed), -1)
        padded = (pad(k, packed), pad(v, packed), torch.stack([positions, pad(packed.sentence, packed)], -1))
        return Growing(self.restricted, *(x.transpose(0, 1).contiguous() for x in padded))

    def view(self, now: Moment) -> View:
        assert self.k is not None and self.v is not None and self.place is not None and self.order is None
        position, sentence = self.place.permute(2, 1, 0)  # [N, M] each
        filled = position >= 0
        allowed: tuple[Tensor, ...] = (filled,)
        if self.restricted:
            allowed = (filled, filled & (sentence == now.sentence[:, None]))
        return View(self.k.permute(1, 2, 0, 3), self.v.permute(1, 2, 0, 3), allowed, position)

    def reorder(self, index: Tensor) -> Growing:
        if self.order is not None:
            index = self.order[index]
        return replace(self, order=index)

    @property
    def capacity(self) -> int:  # type: ignore[override]
        return 0 if self.place is None else len(self.place)

    def fixed(self, more: int) -> Growing:
        assert self.k is not None and self.v is not None and self.place is not None
        size, index, tensors = recurring(self.capacity + more), self._index, []
        for x, empty in ((self.k, 0), (self.v, 0), (self.place, -1)):
            moved = x if index is None else _moved(x, index)
            tensors.append(F.pad(moved, (0, 0) * (x.ndim - 1) + (0, size - len(x)), value=empty))
        k, v, place = tensors
        used = self.place.new_full((1,), self.capacity) if self.used is None else self.used
        return Growing(self.restricted, k, v, place, used=used)


def _moved(x: Tensor, index: Tensor) -> Tensor:
    """Slots [M, N, …] in another order of rows; as rows of one table, which a CPU copies twice as fast."""
    return x.flatten(0, 1).index_select(0, index).view(len(x), -1, *x.shape[2:])


@dataclass(frozen=True)
class Ring(SelfState):
    """Keeps the last `size` tokens: token i lies in slot i mod size."""

    size: int
    k: Tensor | None = None  # [N, size, H, D]
    v: Tensor | None = None
    position: Tensor | None = None  # [N, size], -1 where empty
    order: Tensor | None = None  # [N] rows that a reordering chose; carried out when the next token is added

    def add(self, k: Tensor, v: Tensor, now: Moment) -> Ring:
        rows, slot = torch.arange(len(k), device=k.device), now.position % self.size
        if self.k is None or self.v is None or self.position is None:
            keys, values = (x.new_zeros(len(x), self.size, *x.shape[1:]) for x in (k, v))
            position = torch.full((len(k), self.size), -1, device=k.device, dtype=torch.long)
        elif self.order is None:
            keys, values, position = self.k.clone(), self.v.clone(), self.position.clone()
        else:  # one copy for reordering and adding
            keys, values, position = (x.index_select(0, self.order) for x in (self.k, self.v, self.position))
        keys[rows, slot], values[rows, slot], position[rows, slot] = k, v, now.position
        return Ring(self.size, keys, values, position)

    def fill(self, k: Tensor, v: Tensor, packed: Packed) -> Ring:
        rows = torch.arange(packed.sequences, device=k.device)[:, None]
        local = packed.lengths[:, None] - 1 - torch.arange(self.size, device=k.device)  # [N, size], newest first
        row = packed.offsets[:-1, None] + local.clamp(min=0)
        place = packed.place[row] - local.clamp(min=0) + local
        slot = place % self.size
        keys, values = (x.new_zeros(len(rows), self.size, *x.shape[1:]) for x in (k, v))
        position = torch.full(slot.shape, -1, device=k.device, dtype=torch.long)
        keys[rows, slot], values[rows, slot] = k[row], v[row]
        position[rows, slot] = torch.where(local >= 0, place, -1)
        return Ring(self.size, keys, values, position)

    def view(self, now: Moment) -> View:
        assert self.k is not None and self.v is not None and self.position is not None and self.order is None
        k, v = self.k.transpose(1, 2), self.v.transpose(1, 2)
        return View(k, v, (self.position >= 0,), self.position)

    def reorder(self, index: Tensor) -> Ring:
        return self if self.k is None else replace(self, order=index if self.order is None else self.order[index])

    capacity = None

    def fixed(self, more: int) -> Ring:
        assert self.k is not None and self.v is not None and self.position is not None
        if self.order is None:
            return self
        return Ring(self.size, *(x.index_select(0, self.order) for x in (self.k, self.v, self.position)))


@dataclass(frozen=True)
class WholeSource(CrossState):
    """Every source token of the hypothesis' sequence."""

    k: Tensor  # [B, S, H, D]
    v: Tensor
    lengths: Tensor  # [B]

    def narrow(self, keep: Tensor) -> WholeSource:
        return WholeSource(self.k[keep], self.v[keep], self.lengths[keep])

    @classmethod
    def of(cls, k: Tensor, v: Tensor, source: Packed) -> WholeSource:
        return cls(pad(k, source), pad(v, source), source.lengths)

    def fixed(self, source: Packed) -> WholeSource:
        more = recurring(self.k.shape[1]) - self.k.shape[1]
        k, v = (F.pad(x, (0, 0, 0, 0, 0, more)) for x in (self.k, self.v))
        return WholeSource(k, v, self.lengths)

    def view(self, now: Moment) -> View:
        allowed = torch.arange(self.k.shape[1], device=self.k.device) < self.lengths[:, None]
        k, v = self.k.transpose(1, 2), self.v.transpose(1, 2)
        if now.width:
            return View(k, v, (allowed,), shared=now.width)
        return View(k[now.sequence], v[now.sequence], (allowed[now.sequence],))


@dataclass(frozen=True)
class SourceWindow(CrossState):
    """The source tokens within `window` of the aligned place: a slice for each hypothesis. With `focus`, of these
    only those of the sentence being translated, where there are any."""

    k: Tensor  # [S, H, D], packed
    v: Tensor
    source: Packed
    window: int
    focus: bool = False

    def fixed(self, source: Packed) -> SourceWindow:
        more = source.tokens - len(self.k)
        k, v = (F.pad(x, (0, 0, 0, 0, 0, more)) for x in (self.k, self.v))
        return SourceWindow(k, v, source, self.window, self.focus)

    def view(self, now: Moment) -> View:
        begin, end = self.source.offsets[now.sequence], self.source.offsets[now.sequence + 1]
        window = min(self.window, self.source.longest)
        offset = torch.arange(-window, window + 1, device=self.k.device)
        index = (begin + now.center)[:, None] + offset
        allowed = (index >= begin[:, None]) & (index < end[:, None])
        index = index.clamp(0, len(self.k) - 1)
        if self.focus:
            own = allowed & (self.source.sentence[index] == now.sentence[:, None])
            allowed = torch.where(own.any(1, keepdim=True), own, allowed)
        # Rows of a table: far faster on a CPU than indexing with [N, M] indices.
        k, v = (
            F.embedding(index, x.flatten(1)).view(*index.shape, *x.shape[1:]).transpose(1, 2)
            for x in (self.k, self.v)
        )
        return View(k, v, (allowed,))
