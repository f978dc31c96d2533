"""What windows keep: the last tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.model.packed import Packed
from fenster.model.state.base import Moment, SelfState, Sight, among, distances, lanes_of, neighbours


@dataclass(frozen=True)
class Ring(SelfState):
    """Keeps the last `size` tokens of each hypothesis: those at place i of a lane's P hypotheses lie in slots
    [i mod size, …]. All hypotheses of a lane are at one place."""

    kv: tuple[Tensor, ...]  # [G, size, P, 2, H, D] each
    position: Tensor  # [G, size], -1 where empty
    own: Tensor  # [N, size, P] bool
    slot: Tensor  # [G] of the newest tokens
    in_place: bool = False

    @classmethod
    def empty(cls, rows: Sequence[Tensor], size: int) -> Ring:
        """For hypotheses whose keys and values [N, 2, H, D] in each layer will be like `rows`."""
        kv = tuple(x.new_zeros(len(x), size, 1, *x.shape[1:]) for x in rows)
        position = torch.full((len(rows[0]), size), -1, device=rows[0].device)
        return cls(kv, position, position[:, :, None] >= 0, position[:, 0])

    @classmethod
    def of(cls, kv: Sequence[Tensor], packed: Packed, size: int) -> Ring:
        """Whole sequences, one for each hypothesis: keys and values [tokens, 2, H, D] of each layer."""
        device = packed.offsets.device
        lane = torch.arange(packed.sequences, device=device)[:, None]
        local = packed.lengths[:, None] - 1 - torch.arange(size, device=device)  # [G, size], newest first
        row = packed.offsets[:-1, None] + local.clamp(min=0)
        place = packed.place[row] - local.clamp(min=0) + local
        slot = place % size
        kept = []
        for x in kv:
            room = x.new_zeros(packed.sequences, size, *x.shape[1:])
            room[lane, slot] = x[row]
            kept.append(room.unsqueeze(2))
        position = torch.full(slot.shape, -1, device=device)
        position[lane, slot] = torch.where(local >= 0, place, -1)
        return cls(tuple(kept), position, position[:, :, None] >= 0, slot[:, 0])

    @property
    def size(self) -> int:
        return self.position.shape[1]

    def next(self, now: Moment) -> Ring:
        lanes, width = len(self.position), neighbours(now.position, self.position)
        state = self._roomy(width)
        place = now.position[:: max(1, width)]  # [G]
        slot = place % self.size
        here = torch.arange(self.size, device=slot.device) == slot[:, None]  # [G, size]
        mine = F.pad(among(lanes, width, slot.device), (0, state.own.shape[2] - width))  # [N, P]
        own = torch.where(here.repeat_interleave(width, 0)[:, :, None], mine[:, None], state.own)
        kv = state.kv if self.in_place else tuple(x.clone() for x in state.kv)
        return Ring(kv, torch.where(here, place[:, None], self.position), own, slot, self.in_place)

    def put(self, layer: int, kv: Tensor) -> Tensor:
        room = self.kv[layer]
        width = neighbours(kv, room)
        lane = torch.arange(len(room), device=kv.device)
        room[lane, self.slot, :width] = kv.view(len(room), width, *kv.shape[1:])
        return room.flatten(1, 2)

    def look(self, now: Moment, reach: int | None) -> Sight:
        position = self.position.repeat_interleave(self.own.shape[2], 1)
        return Sight((self.own.flatten(1),), distances(now, position, reach))

    def _roomy(self, width: int) -> Ring:
        """With slots for as many hypotheses of a lane as there are now."""
        more = width - self.own.shape[2]
        if more <= 0:
            return self
        kv = tuple(F.pad(x, (0, 0, 0, 0, 0, 0, 0, more)) for x in self.kv)
        return replace(self, kv=kv, own=F.pad(self.own, (0, more)))

    def reorder(self, index: Tensor, width: int = 0, keep: Tensor | None = None) -> Ring:
        lanes = lanes_of(index, neighbours(self.own, self.position), width, keep)
        own = self.own[index]
        if lanes is None:
            return replace(self, own=own)
        kv = tuple(x[lanes] for x in self.kv)
        return replace(self, kv=kv, position=self.position[lanes], own=own, slot=self.slot[lanes])

    capacity = None

    def fixed(self, more: int) -> Ring:
        return replace(self._roomy(neighbours(self.own, self.position)), in_place=True)
