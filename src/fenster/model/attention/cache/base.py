"""The contract of decode-time state: what is kept of earlier tokens, and of the source, for all layers.

Where tokens lie is one thing for all layers: slots, which hypotheses of a lane (translations of one source, side by
side) share; a mask says which slots are of whose past. What lies there is each layer's: keys and values. So nothing
moves when hypotheses change places, what was given to all of them is kept once, and masks are made once a step.

States are immutable, but for fixed ones: `allocate` and `reorder` return new ones, and old ones stay good.
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
    position: Tensor  # [N] place in the target, from 0
    sentence: Tensor  # [N] sentence index
    center: Tensor  # [N] aligned source place
    n_hyps: int = 0  # hypotheses of each source, side by side; 0 where that is not known


@dataclass(frozen=True)
class CacheView:
    """What N queries may look at among M slots, which are the same for N / G neighbours."""

    allowed: tuple[Tensor, ...]  # [N or G, M] bool, one for every pattern of a module
    relative: Tensor | None = None  # [N, M] rows of the table of relative positions
    rows: Tensor | None = None  # [G, M] where the slots are among what is kept, if they do not lie side by side


class SelfAttentionCache(ABC):
    """Self-attention: keys and values [G, slots, 2, H, D] of the tokens so far, of every layer."""

    kv: tuple[Tensor, ...]

    @abstractmethod
    def allocate(self, now: StepPositions) -> SelfAttentionCache:
        """With slots for the tokens at `now`, one for each hypothesis; every layer is still to `write` something
        in."""

    @abstractmethod
    def view(self, now: StepPositions, max_distance: int | None) -> CacheView:
        """What the tokens at `now` see, themselves included; `max_distance` is that of relative positions, if there
        are."""

    @abstractmethod
    def write(self, layer: int, kv: Tensor) -> Tensor:
        """Keys and values [N, 2, H, D] of the tokens at `now` to their slots; all slots of it [G, M, 2, H, D]."""

    @abstractmethod
    def reorder(self, index: Tensor, n_hyps: int = 0, keep: Tensor | None = None) -> SelfAttentionCache:
        """Hypothesis n goes on from what hypothesis index[n] was. Where `n_hyps` is given, `n_hyps` neighbours go on
        from hypotheses of one lane: lane after lane, or only the lanes `keep`."""

    capacity: int | None
    """Slots of a lane; None where new tokens take the place of old ones."""

    @abstractmethod
    def with_static_shapes(self, extra: int) -> SelfAttentionCache:
        """The same in tensors whose shapes recur, with room for `extra` tokens of each hypothesis. From then on
        `write` writes over them: what a CUDA graph wants."""


class CrossAttentionCache(ABC):
    """Cross-attention: keys and values of the source, of every layer; shared by all hypotheses of a sequence."""

    kv: tuple[Tensor, ...]
    """[G, M, 2, H, D] each; or in other shapes [·, 2, H, D] whose rows a sight tells."""

    @abstractmethod
    def view(self, now: StepPositions) -> CacheView: ...

    def narrow(self, keep: Tensor) -> CrossAttentionCache:
        """Only sources `keep` are needed from now on; later moments have a `n_hyps` and no other sources."""
        return self

    @abstractmethod
    def with_static_shapes(self, source: Layout) -> CrossAttentionCache:
        """The same in tensors whose shapes recur; `source` is the fixed layout."""


def hyps_per_group(hypotheses: Tensor, groups: Tensor) -> int:
    """Hypotheses of each lane, from how many rows either has; 0 where there are none."""
    return len(hypotheses) // max(1, len(groups))


def groups_after(index: Tensor, per_group: int, n_hyps: int, keep: Tensor | None) -> Tensor | None:
    """The lanes that go on after a reordering, where lanes had `map` hypotheses; None: all, as they are."""
    return keep if n_hyps else index // max(1, per_group)


def own_slots(groups: int, n_hyps: int, device: torch.device) -> Tensor:
    """[lanes * width, width] bool: which of its neighbours a hypothesis is."""
    return torch.eye(n_hyps, dtype=torch.bool, device=device).repeat(groups, 1)


def distances(now: StepPositions, position: Tensor, max_distance: int | None) -> Tensor | None:
    """[N, M] rows of the table for slots at `position` [G, M]."""
    if max_distance is None:
        return None
    groups, slots = position.shape
    away = now.position.view(groups, hyps_per_group(now.position, position), 1) - position[:, None]
    return table_rows(away.view(len(now.position), slots), max_distance)
