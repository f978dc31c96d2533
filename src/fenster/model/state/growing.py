"""What full attention keeps: everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.model.packed import Packed, pad, recurring
from fenster.model.state.base import Moment, SelfState, Sight, among, distances, lanes_of, neighbours

_MORE = 16  # tokens of each hypothesis that room is made for at a time


@dataclass(frozen=True)
class Growing(SelfState):
    """`restricted` adds a second mask, same sentence only (LST).

    Tensors have room for slots to come, which only one state may write: the one that knows all that were written."""

    restricted: bool
    kv: tuple[Tensor, ...]  # [G, C, 2, H, D] each
    place: Tensor  # [G, C, 2] position and sentence
    own: Tensor  # [N, M] bool, M <= C slots are taken
    written: list[int]  # slots that states with these tensors have taken

    @classmethod
    def empty(cls, rows: Sequence[Tensor], restricted: bool = False) -> Growing:
        """For hypotheses whose keys and values [N, 2, H, D] in each layer will be like `rows`."""
        kv = tuple(x.new_empty(len(x), 0, *x.shape[1:]) for x in rows)
        none = torch.zeros(len(rows[0]), 0, dtype=torch.long, device=rows[0].device)
        return cls(restricted, kv, none.unsqueeze(-1).expand(-1, -1, 2), none.bool(), [0])

    @classmethod
    def of(cls, kv: Sequence[Tensor], packed: Packed, restricted: bool = False) -> Growing:
        """Whole sequences, one for each hypothesis: keys and values [tokens, 2, H, D] of each layer."""
        own = torch.arange(packed.longest, device=packed.offsets.device) < packed.lengths[:, None]
        place = torch.stack([pad(packed.place, packed), pad(packed.sentence, packed)], -1)
        return cls(restricted, tuple(pad(x, packed) for x in kv), place, own, [packed.longest])

    def next(self, now: Moment) -> Growing:
        lanes, begin, width = len(self.place), self.own.shape[1], neighbours(now.position, self.place)
        end, kv, place, written = begin + width, self.kv, self.place, self.written
        if end > place.shape[1] or written != [begin]:
            room = _MORE * width
            kv = tuple(F.pad(x[:, :begin], (0, 0, 0, 0, 0, 0, 0, room)) for x in kv)
            place, written = F.pad(place[:, :begin], (0, 0, 0, room)), [begin]
        place[:, begin:end] = torch.stack([now.position, now.sentence], 1).view(lanes, width, 2)
        written[0] = end
        own = torch.cat([self.own, among(lanes, width, place.device)], 1)
        return Growing(self.restricted, kv, place, own, written)

    def put(self, layer: int, kv: Tensor) -> Tensor:
        room, end = self.kv[layer], self.own.shape[1]
        width = neighbours(kv, room)
        room[:, end - width : end] = kv.view(len(room), width, *kv.shape[1:])
        return room[:, :end]

    def look(self, now: Moment, reach: int | None) -> Sight:
        return _look(self.place[:, : self.own.shape[1]], self.own, now, reach, self.restricted)

    def reorder(self, index: Tensor, width: int = 0, keep: Tensor | None = None) -> Growing:
        lanes = lanes_of(index, neighbours(self.own, self.place), width, keep)
        own = self.own[index]
        if lanes is None:
            return replace(self, own=own)
        slots = own.shape[1]
        kv = tuple(x[:, :slots].index_select(0, lanes) for x in self.kv)
        return Growing(self.restricted, kv, self.place[:, :slots].index_select(0, lanes), own, [slots])

    @property
    def capacity(self) -> int:  # type: ignore[override]
        return self.own.shape[1]

    def fixed(self, more: int) -> Fixed:
        kv, place = tuple(x[:, : self.capacity] for x in self.kv), self.place[:, : self.capacity]
        width = neighbours(self.own, place)
        at = torch.arange(self.capacity - width, self.capacity, device=place.device)
        return Fixed(self.restricted, kv, place, self.own, at).fixed(more)


@dataclass(frozen=True)
class Fixed(SelfState):
    """The same for CUDA graphs: constant shapes, written in place."""

    restricted: bool
    kv: tuple[Tensor, ...]  # [G, C, 2, H, D] each
    place: Tensor  # [G, C, 2]
    own: Tensor  # [N, C] bool
    at: Tensor  # [N / G] the last slots that are taken, behind which the next tokens go

    def next(self, now: Moment) -> Fixed:
        lanes, width = len(self.place), neighbours(now.position, self.place)
        slots = self.at + width
        self.place.index_copy_(1, slots, torch.stack([now.position, now.sentence], 1).view(lanes, width, 2))
        own = self.own.index_copy(1, slots, among(lanes, width, slots.device))
        return replace(self, own=own, at=slots)

    def put(self, layer: int, kv: Tensor) -> Tensor:
        room = self.kv[layer]
        width = neighbours(kv, room)
        return room.index_copy_(1, self.at, kv.view(len(room), width, *kv.shape[1:]))

    def look(self, now: Moment, reach: int | None) -> Sight:
        return _look(self.place, self.own, now, reach, self.restricted)

    def reorder(self, index: Tensor, width: int = 0, keep: Tensor | None = None) -> Fixed:
        lanes = lanes_of(index, neighbours(self.own, self.place), width, keep)
        own = self.own[index]
        if lanes is None:
            return replace(self, own=own)
        return replace(self, kv=tuple(x[lanes] for x in self.kv), place=self.place[lanes], own=own)

    @property
    def capacity(self) -> int:  # type: ignore[override]
        return self.place.shape[1]

    def fixed(self, more: int) -> Fixed:
        width = neighbours(self.own, self.place)
        room = recurring(self.capacity + more * width) - self.capacity
        kv = tuple(F.pad(x, (0, 0, 0, 0, 0, 0, 0, room)) for x in self.kv)
        return Fixed(self.restricted, kv, F.pad(self.place, (0, 0, 0, room)), F.pad(self.own, (0, room)), self.at)


def _look(place: Tensor, own: Tensor, now: Moment, reach: int | None, restricted: bool) -> Sight:
    position, sentence = place.unbind(-1)  # [G, M]
    allowed: tuple[Tensor, ...] = (own,)
    if restricted:
        same = sentence[:, None] == now.sentence.view(len(place), neighbours(own, place), 1)  # [G, N / G, M]
        allowed = (own, own & same.view(own.shape))
    return Sight(allowed, distances(now, position, reach))
