"""The cache of windows: the last tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.model.attention.cache.base import (
    CacheView,
    SelfAttentionCache,
    StepPositions,
    distances,
    groups_after,
    hyps_per_group,
    own_slots,
)
from fenster.model.layout import Layout


@dataclass(frozen=True)
class WindowCache(SelfAttentionCache):
    """A ring buffer of the last `size` tokens of each hypothesis: those at position i of a group's P hypotheses are
    in slots [i mod size, …]. All hypotheses of a group are at one position."""

    kv: tuple[Tensor, ...]  # [G, size, P, 2, H, D] each
    position: Tensor  # [G, size], -1 where empty
    own: Tensor  # [N, size, P] bool
    slot: Tensor  # [G] of the newest tokens
    in_place: bool = False

    @classmethod
    def empty(cls, rows: Sequence[Tensor], size: int) -> WindowCache:
        """For hypotheses whose keys and values [N, 2, H, D] in each layer will be like `rows`."""
        kv = tuple(x.new_zeros(len(x), size, 1, *x.shape[1:]) for x in rows)
        position = torch.full((len(rows[0]), size), -1, device=rows[0].device)
        return cls(kv, position, position[:, :, None] >= 0, position[:, 0])

    @classmethod
    def of(cls, kv: Sequence[Tensor], layout: Layout, size: int) -> WindowCache:
        """Whole sequences, one per hypothesis: keys and values [tokens, 2, H, D] of each layer."""
        device = layout.offsets.device
        group = torch.arange(layout.sequences, device=device)[:, None]
        local = layout.lengths[:, None] - 1 - torch.arange(size, device=device)  # [G, size], newest first
        row = layout.offsets[:-1, None] + local.clamp(min=0)
        at = layout.document_position[row] - local.clamp(min=0) + local
        slot = at % size
        kept = []
        for x in kv:
            room = x.new_zeros(layout.sequences, size, *x.shape[1:])
            room[group, slot] = x[row]
            kept.append(room.unsqueeze(2))
        position = torch.full(slot.shape, -1, device=device)
        position[group, slot] = torch.where(local >= 0, at, -1)
        return cls(tuple(kept), position, position[:, :, None] >= 0, slot[:, 0])

    @property
    def size(self) -> int:
        return self.position.shape[1]

    def allocate(self, now: StepPositions) -> WindowCache:
        groups, n_hyps = len(self.position), hyps_per_group(now.position, self.position)
        state = self._widened(n_hyps)
        at = now.position[:: max(1, n_hyps)]  # [G]
        slot = at % self.size
        here = torch.arange(self.size, device=slot.device) == slot[:, None]  # [G, size]
        mine = F.pad(own_slots(groups, n_hyps, slot.device), (0, state.own.shape[2] - n_hyps))  # [N, P]
        own = torch.where(here.repeat_interleave(n_hyps, 0)[:, :, None], mine[:, None], state.own)
        kv = state.kv if self.in_place else tuple(x.clone() for x in state.kv)
        return WindowCache(kv, torch.where(here, at[:, None], self.position), own, slot, self.in_place)

    def write(self, layer: int, kv: Tensor) -> Tensor:
        room = self.kv[layer]
        n_hyps = hyps_per_group(kv, room)
        group = torch.arange(len(room), device=kv.device)
        room[group, self.slot, :n_hyps] = kv.view(len(room), n_hyps, *kv.shape[1:])
        return room.flatten(1, 2)

    def view(self, now: StepPositions, max_distance: int | None) -> CacheView:
        position = self.position.repeat_interleave(self.own.shape[2], 1)
        return CacheView((self.own.flatten(1),), distances(now, position, max_distance))

    def _widened(self, n_hyps: int) -> WindowCache:
        """With slots for as many hypotheses per group as there are now."""
        extra = n_hyps - self.own.shape[2]
        if extra <= 0:
            return self
        kv = tuple(F.pad(x, (0, 0, 0, 0, 0, 0, 0, extra)) for x in self.kv)
        return replace(self, kv=kv, own=F.pad(self.own, (0, extra)))

    def reorder(self, index: Tensor, n_hyps: int = 0, keep: Tensor | None = None) -> WindowCache:
        groups = groups_after(index, hyps_per_group(self.own, self.position), n_hyps, keep)
        own = self.own[index]
        if groups is None:
            return replace(self, own=own)
        kv = tuple(x[groups] for x in self.kv)
        return replace(self, kv=kv, position=self.position[groups], own=own, slot=self.slot[groups])

    capacity = None

    def with_static_shapes(self, extra: int) -> WindowCache:
        return replace(self._widened(hyps_per_group(self.own, self.position)), in_place=True)
