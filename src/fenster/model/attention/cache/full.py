"""The cache of full attention: everything."""

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
from fenster.model.layout import Layout, pad, round_up_to_bucket

_MORE = 16  # tokens per hypothesis that room is made for at a time


@dataclass(frozen=True)
class FullCache(SelfAttentionCache):
    """`restricted` adds a second mask, same sentence only (LST).

    Tensors have room for future slots, which only one cache may write: the one that knows all that were written."""

    restricted: bool
    kv: tuple[Tensor, ...]  # [G, C, 2, H, D] each
    positions: Tensor  # [G, C, 2] position and sentence
    own: Tensor  # [N, M] bool, M <= C slots are taken
    written: list[int]  # slots that caches with these tensors have taken

    @classmethod
    def empty(cls, rows: Sequence[Tensor], restricted: bool = False) -> FullCache:
        """For hypotheses whose keys and values [N, 2, H, D] in each layer will be like `rows`."""
        kv = tuple(x.new_empty(len(x), 0, *x.shape[1:]) for x in rows)
        none = torch.zeros(len(rows[0]), 0, dtype=torch.long, device=rows[0].device)
        return cls(restricted, kv, none.unsqueeze(-1).expand(-1, -1, 2), none.bool(), [0])

    @classmethod
    def of(cls, kv: Sequence[Tensor], layout: Layout, restricted: bool = False) -> FullCache:
        """Whole sequences, one per hypothesis: keys and values [tokens, 2, H, D] of each layer."""
        own = torch.arange(layout.longest, device=layout.offsets.device) < layout.lengths[:, None]
        positions = torch.stack([pad(layout.document_position, layout), pad(layout.sentence, layout)], -1)
        return cls(restricted, tuple(pad(x, layout) for x in kv), positions, own, [layout.longest])

    def allocate(self, now: StepPositions) -> FullCache:
        groups, begin, n_hyps = len(self.positions), self.own.shape[1], hyps_per_group(now.position, self.positions)
        end, kv, positions, written = begin + n_hyps, self.kv, self.positions, self.written
        if end > positions.shape[1] or written != [begin]:
            room = _MORE * n_hyps
            kv = tuple(F.pad(x[:, :begin], (0, 0, 0, 0, 0, 0, 0, room)) for x in kv)
            positions, written = F.pad(positions[:, :begin], (0, 0, 0, room)), [begin]
        positions[:, begin:end] = torch.stack([now.position, now.sentence], 1).view(groups, n_hyps, 2)
        written[0] = end
        own = torch.cat([self.own, own_slots(groups, n_hyps, positions.device)], 1)
        return FullCache(self.restricted, kv, positions, own, written)

    def write(self, layer: int, kv: Tensor) -> Tensor:
        room, end = self.kv[layer], self.own.shape[1]
        n_hyps = hyps_per_group(kv, room)
        room[:, end - n_hyps : end] = kv.view(len(room), n_hyps, *kv.shape[1:])
        return room[:, :end]

    def view(self, now: StepPositions, max_distance: int | None) -> CacheView:
        return _view(self.positions[:, : self.own.shape[1]], self.own, now, max_distance, self.restricted)

    def reorder(self, index: Tensor, n_hyps: int = 0, keep: Tensor | None = None) -> FullCache:
        groups = groups_after(index, hyps_per_group(self.own, self.positions), n_hyps, keep)
        own = self.own[index]
        if groups is None:
            return replace(self, own=own)
        slots = own.shape[1]
        kv = tuple(x[:, :slots].index_select(0, groups) for x in self.kv)
        return FullCache(self.restricted, kv, self.positions[:, :slots].index_select(0, groups), own, [slots])

    @property
    def capacity(self) -> int:  # type: ignore[override]
        return self.own.shape[1]

    def with_static_shapes(self, extra: int) -> StaticFullCache:
        kv, positions = tuple(x[:, : self.capacity] for x in self.kv), self.positions[:, : self.capacity]
        n_hyps = hyps_per_group(self.own, positions)
        at = torch.arange(self.capacity - n_hyps, self.capacity, device=positions.device)
        return StaticFullCache(self.restricted, kv, positions, self.own, at).with_static_shapes(extra)


@dataclass(frozen=True)
class StaticFullCache(SelfAttentionCache):
    """The same for CUDA graphs: constant shapes, written in place."""

    restricted: bool
    kv: tuple[Tensor, ...]  # [G, C, 2, H, D] each
    positions: Tensor  # [G, C, 2]
    own: Tensor  # [N, C] bool
    at: Tensor  # [N / G] the last slots taken, after which the next tokens go

    def allocate(self, now: StepPositions) -> StaticFullCache:
        groups, n_hyps = len(self.positions), hyps_per_group(now.position, self.positions)
        slots = self.at + n_hyps
        self.positions.index_copy_(1, slots, torch.stack([now.position, now.sentence], 1).view(groups, n_hyps, 2))
        own = self.own.index_copy(1, slots, own_slots(groups, n_hyps, slots.device))
        return replace(self, own=own, at=slots)

    def write(self, layer: int, kv: Tensor) -> Tensor:
        room = self.kv[layer]
        n_hyps = hyps_per_group(kv, room)
        return room.index_copy_(1, self.at, kv.view(len(room), n_hyps, *kv.shape[1:]))

    def view(self, now: StepPositions, max_distance: int | None) -> CacheView:
        return _view(self.positions, self.own, now, max_distance, self.restricted)

    def reorder(self, index: Tensor, n_hyps: int = 0, keep: Tensor | None = None) -> StaticFullCache:
        groups = groups_after(index, hyps_per_group(self.own, self.positions), n_hyps, keep)
        own = self.own[index]
        if groups is None:
            return replace(self, own=own)
        return replace(self, kv=tuple(x[groups] for x in self.kv), positions=self.positions[groups], own=own)

    @property
    def capacity(self) -> int:  # type: ignore[override]
        return self.positions.shape[1]

    def with_static_shapes(self, extra: int) -> StaticFullCache:
        n_hyps = hyps_per_group(self.own, self.positions)
        room = round_up_to_bucket(self.capacity + extra * n_hyps) - self.capacity
        kv = tuple(F.pad(x, (0, 0, 0, 0, 0, 0, 0, room)) for x in self.kv)
        return StaticFullCache(
            self.restricted, kv, F.pad(self.positions, (0, 0, 0, room)), F.pad(self.own, (0, room)), self.at
        )


def _view(
    positions: Tensor, own: Tensor, now: StepPositions, max_distance: int | None, restricted: bool
) -> CacheView:
    position, sentence = positions.unbind(-1)  # [G, M]
    allowed: tuple[Tensor, ...] = (own,)
    if restricted:
        same = sentence[:, None] == now.sentence.view(
            len(positions), hyps_per_group(own, positions), 1
        )  # [G, N / G, M]
        allowed = (own, own & same.view(own.shape))
    return CacheView(allowed, distances(now, position, max_distance))
