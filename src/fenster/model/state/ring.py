"""What windows keep: the last tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.model.packed import Packed
from fenster.model.state.base import Moment, SelfState, View, among, lanes_of, neighbours


@dataclass(frozen=True)
class Ring(SelfState):
    """Keeps the last `size` tokens of each hypothesis: tokens at place i of a lane's P hypotheses lie in slots
    [i mod size, …]. All hypotheses of a lane are at one place."""

    size: int
    k: Tensor | None = None  # [G, size, P, H, D]
    v: Tensor | None = None
    position: Tensor | None = None  # [G, size], -1 where empty
    own: Tensor | None = None  # [N, size, P] bool
    in_place: bool = False

    def add(self, k: Tensor, v: Tensor, now: Moment) -> Ring:
        state = self._roomy(k, v)
        assert state.k is not None and state.v is not None and state.position is not None and state.own is not None
        lanes, width, device = len(state.k), neighbours(k, state.k), k.device
        place = now.position[:: max(1, width)]  # [G]
        lane, slot = torch.arange(lanes, device=device), place % self.size
        keys, values, position = state.k, state.v, state.position
        if not self.in_place:
            keys, values, position = keys.clone(), values.clone(), position.clone()
        keys[lane, slot, :width] = k.view(lanes, width, *k.shape[1:])
        values[lane, slot, :width] = v.view(lanes, width, *v.shape[1:])
        position[lane, slot] = place
        here = torch.arange(self.size, device=device) == slot.repeat_interleave(width)[:, None]  # [N, size]
        mine = F.pad(among(lanes, width, device), (0, keys.shape[2] - width))  # [N, P]
        own = torch.where(here[:, :, None], mine[:, None], state.own)
        return Ring(self.size, keys, values, position, own, self.in_place)

    def _roomy(self, k: Tensor, v: Tensor) -> Ring:
        """With slots for as many hypotheses of a lane as there are now."""
        if self.k is None or self.v is None or self.own is None:
            keys, values = (x.new_zeros(len(x), self.size, 1, *x.shape[1:]) for x in (k, v))
            position = torch.full((len(k), self.size), -1, device=k.device, dtype=torch.long)
            return Ring(self.size, keys, values, position, position[:, :, None] >= 0, self.in_place)
        more = neighbours(k, self.k) - self.k.shape[2]
        if more <= 0:
            return self
        keys, values = (F.pad(x, (0, 0, 0, 0, 0, more)) for x in (self.k, self.v))
        return replace(self, k=keys, v=values, own=F.pad(self.own, (0, more)))

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
        return Ring(self.size, keys.unsqueeze(2), values.unsqueeze(2), position, position[:, :, None] >= 0)

    def view(self, now: Moment) -> View:
        assert self.k is not None and self.v is not None and self.position is not None and self.own is not None
        k, v = (x.flatten(1, 2).transpose(1, 2) for x in (self.k, self.v))
        return View(k, v, (self.own.flatten(1),), self.position.repeat_interleave(self.k.shape[2], 1))

    def reorder(self, index: Tensor, width: int = 0, keep: Tensor | None = None) -> Ring:
        if self.k is None or self.v is None or self.position is None or self.own is None:
            return self
        lanes = lanes_of(index, neighbours(self.own, self.k), width, keep)
        own = self.own[index]
        if lanes is None:
            return replace(self, own=own)
        return replace(self, k=self.k[lanes], v=self.v[lanes], position=self.position[lanes], own=own)

    capacity = None

    def fixed(self, more: int) -> Ring:
        assert self.k is not None and self.v is not None and self.position is not None and self.own is not None
        rows = self.k.new_empty(len(self.own), *self.k.shape[3:])
        roomy = self._roomy(rows, rows)
        return replace(roomy, in_place=True)
