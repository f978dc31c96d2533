"""What full attention keeps: everything."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.model.packed import Packed, pad, recurring
from fenster.model.state.base import Moment, SelfState, View, among, lanes_of, neighbours

_MORE = 16  # tokens of each hypothesis that room is made for at a time


@dataclass(frozen=True)
class Growing(SelfState):
    """`restricted` adds a second mask, same sentence only (LST).

    Tensors have room for slots to come, which only one state may write: the one that knows all that were written."""

    restricted: bool = False
    k: Tensor | None = None  # [G, C, H, D]
    v: Tensor | None = None
    place: Tensor | None = None  # [G, C, 2] position, -1 where empty, and sentence
    own: Tensor | None = None  # [N, M] bool, M <= C slots are filled
    written: list[int] | None = None  # slots that were written by states with these tensors

    def add(self, k: Tensor, v: Tensor, now: Moment) -> Growing:
        new = (k, v, torch.stack([now.position, now.sentence], 1))
        if self.k is None or self.v is None or self.place is None or self.own is None:
            own = torch.ones(len(k), 1, dtype=torch.bool, device=k.device)
            k, v, place = (x.unsqueeze(1) for x in new)
            return Growing(self.restricted, k, v, place, own, [1])
        lanes, begin, width = len(self.k), self.own.shape[1], neighbours(k, self.k)
        end, tensors, written = begin + width, [self.k, self.v, self.place], self.written
        if end > self.k.shape[1] or written != [begin]:
            room = (0, _MORE * width)
            tensors, written = [F.pad(x[:, :begin], (0, 0) * (x.ndim - 2) + room) for x in tensors], [begin]
        for x, y in zip(tensors, new, strict=True):
            x[:, begin:end] = y.view(lanes, width, *y.shape[1:])
        written[0] = end
        own = torch.cat([self.own, among(lanes, width, k.device)], 1)
        return Growing(self.restricted, tensors[0], tensors[1], tensors[2], own, written)

    def fill(self, k: Tensor, v: Tensor, packed: Packed) -> Growing:
        slot = torch.arange(packed.longest, device=k.device)
        own = slot < packed.lengths[:, None]
        place = torch.stack([torch.where(own, pad(packed.place, packed), -1), pad(packed.sentence, packed)], -1)
        return Growing(self.restricted, pad(k, packed), pad(v, packed), place, own, [packed.longest])

    def view(self, now: Moment) -> View:
        assert self.k is not None and self.v is not None and self.place is not None and self.own is not None
        slots = self.own.shape[1]
        k, v, place = (x[:, :slots] for x in (self.k, self.v, self.place))
        return _view(k, v, place, self.own, now, self.restricted)

    def reorder(self, index: Tensor, width: int = 0, keep: Tensor | None = None) -> Growing:
        if self.k is None or self.v is None or self.place is None or self.own is None:
            return self
        lanes = lanes_of(index, neighbours(self.own, self.k), width, keep)
        own = self.own[index]
        if lanes is None:
            return replace(self, own=own)
        slots = own.shape[1]
        k, v, place = (x[:, :slots].index_select(0, lanes) for x in (self.k, self.v, self.place))
        return Growing(self.restricted, k, v, place, own, [slots])

    @property
    def capacity(self) -> int:  # type: ignore[override]
        return 0 if self.own is None else self.own.shape[1]

    def fixed(self, more: int) -> Fixed:
        assert self.k is not None and self.v is not None and self.place is not None and self.own is not None
        k, v, place = (x[:, : self.capacity] for x in (self.k, self.v, self.place))
        used = self.own.new_full((1,), self.capacity, dtype=torch.long)
        return Fixed(self.restricted, k, v, place, self.own, used).fixed(more)


@dataclass(frozen=True)
class Fixed(SelfState):
    """The same for CUDA graphs: constant shapes, written in place."""

    restricted: bool
    k: Tensor  # [G, C, H, D]
    v: Tensor
    place: Tensor  # [G, C, 2]
    own: Tensor  # [N, C] bool
    used: Tensor  # [1] slots that are filled

    def add(self, k: Tensor, v: Tensor, now: Moment) -> Fixed:
        lanes, width = len(self.k), neighbours(k, self.k)
        slots = self.used + torch.arange(width, device=k.device)
        new = (k, v, torch.stack([now.position, now.sentence], 1))
        for x, y in zip((self.k, self.v, self.place), new, strict=True):
            x.index_copy_(1, slots, y.view(lanes, width, *y.shape[1:]))
        own = self.own.index_copy(1, slots, among(lanes, width, k.device))
        return replace(self, own=own, used=self.used + width)

    def fill(self, k: Tensor, v: Tensor, packed: Packed) -> SelfState:
        raise NotImplementedError("a fixed state is made from one that was filled")

    def view(self, now: Moment) -> View:
        return _view(self.k, self.v, self.place, self.own, now, self.restricted)

    def reorder(self, index: Tensor, width: int = 0, keep: Tensor | None = None) -> Fixed:
        lanes = lanes_of(index, neighbours(self.own, self.k), width, keep)
        own = self.own[index]
        if lanes is None:
            return replace(self, own=own)
        return replace(self, k=self.k[lanes], v=self.v[lanes], place=self.place[lanes], own=own)

    @property
    def capacity(self) -> int:  # type: ignore[override]
        return self.k.shape[1]

    def fixed(self, more: int) -> Fixed:
        width = neighbours(self.own, self.k)
        room = recurring(self.capacity + more * width) - self.capacity
        k, v, place = (F.pad(x, (0, 0) * (x.ndim - 2) + (0, room)) for x in (self.k, self.v, self.place))
        return Fixed(self.restricted, k, v, place, F.pad(self.own, (0, room)), self.used)


def _view(k: Tensor, v: Tensor, place: Tensor, own: Tensor, now: Moment, restricted: bool) -> View:
    position, sentence = place.unbind(-1)  # [G, M]
    allowed: tuple[Tensor, ...] = (own,)
    if restricted:
        same = sentence[:, None] == now.sentence.view(len(k), neighbours(own, k), 1)  # [G, N / G, M]
        allowed = (own, own & same.view(own.shape))
    return View(k.transpose(1, 2), v.transpose(1, 2), allowed, position)
