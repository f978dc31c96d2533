"""The contract of KV caches: keys and values of earlier tokens, and of the source, for all layers.

The hypotheses of one search form a *group* and share slots; a mask says which slots belong to the past of which
hypothesis. Slots are the same for all layers, keys and values are each layer's own. So nothing moves when hypotheses
change places, what was given to all of them is kept once, and masks are made once per step.

Caches are immutable, except static ones: `allocate` and `reorder` return new ones, and old ones stay valid.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from fenster.model.attention.mask import table_rows
from fenster.model.layout import Layout


@dataclass(frozen=True)
class StepPositions:
    """The tokens now being predicted, one for each of N hypotheses."""

    sequence: Tensor  # [N] which source sequence
    position: Tensor  # [N] position in the target, from 0
    sentence: Tensor  # [N] sentence index
    center: Tensor  # [N] aligned source position
    n_hyps: int = 0  # hypotheses of each source, side by side; 0 if that is not known


@dataclass(frozen=True)
class CacheView:
    """What N queries may attend to among M slots, which N / G neighbours share."""

    allowed: tuple[Tensor, ...]  # [N or G, M] bool, one for every mask of a module
    relative: Tensor | None = None  # [N, M] rows of the table of relative positions
    rows: Tensor | None = None  # [G, M] rows of the slots among the cached keys, if they are not contiguous


class SelfAttentionCache(ABC):
    """Self-attention: keys and values [G, slots, 2, H, D] of the tokens so far, of every layer."""

    kv: tuple[Tensor, ...]

    @abstractmethod
    def allocate(self, now: StepPositions) -> SelfAttentionCache:
        """With slots for the tokens at `now`, one for each hypothesis; every layer still has to `write` to them."""

    @abstractmethod
    def view(self, now: StepPositions, max_distance: int | None) -> CacheView:
        """What the tokens at `now` see, themselves included; `max_distance` is that of relative positions, if any."""

    @abstractmethod
    def write(self, layer: int, kv: Tensor) -> Tensor:
        """Keys and values [N, 2, H, D] of the tokens at `now` to their slots; returns all slots [G, M, 2, H, D]."""

    @abstractmethod
    def reorder(self, index: Tensor, n_hyps: int = 0, keep: Tensor | None = None) -> SelfAttentionCache:
        """Hypothesis n continues from hypothesis index[n]. Where `n_hyps` is given, `n_hyps` neighbours go on
        from hypotheses of one group: group after group, or only the groups `keep`."""

    capacity: int | None
    """Slots of a group; None if new tokens replace old ones."""

    @abstractmethod
    def with_static_shapes(self, extra: int) -> SelfAttentionCache:
        """The same in tensors whose shapes recur, with room for `extra` tokens of each hypothesis. From then on
        `write` writes over them: as a CUDA graph requires."""


class CrossAttentionCache(ABC):
    """Cross-attention: keys and values of the source, of every layer; shared by all hypotheses of a sequence."""

    kv: tuple[Tensor, ...]
    """[G, M, 2, H, D] each; or in other shapes [·, 2, H, D] whose rows a view gives."""

    @abstractmethod
    def view(self, now: StepPositions) -> CacheView: ...

    def narrow(self, keep: Tensor) -> CrossAttentionCache:
        """Only sources `keep` are needed from now on; later steps have an `n_hyps` and no other sources."""
        return self

    @abstractmethod
    def with_static_shapes(self, source: Layout) -> CrossAttentionCache:
        """The same in tensors whose shapes recur; `source` is the bucketed layout."""


def hyps_per_group(hypotheses: Tensor, groups: Tensor) -> int:
    """Hypotheses per group, from the rows of both; 0 if there are none."""
    return len(hypotheses) // max(1, len(groups))


def groups_after(index: Tensor, per_group: int, n_hyps: int, keep: Tensor | None) -> Tensor | None:
    """The groups that remain after a reordering of `per_group` hypotheses each; None: all, unchanged."""
    return keep if n_hyps else index // max(1, per_group)


def own_slots(groups: int, n_hyps: int, device: torch.device) -> Tensor:
    """[groups * n_hyps, n_hyps] bool: which of its group a hypothesis is."""
    return torch.eye(n_hyps, dtype=torch.bool, device=device).repeat(groups, 1)


def distances(now: StepPositions, position: Tensor, max_distance: int | None) -> Tensor | None:
    """[N, M] rows of the table for slots at `position` [G, M]."""
    if max_distance is None:
        return None
    groups, slots = position.shape
    away = now.position.view(groups, hyps_per_group(now.position, position), 1) - position[:, None]
    return table_rows(away.view(len(now.position), slots), max_distance)
