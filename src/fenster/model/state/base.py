"""The contract of decode-time state: what is kept of earlier tokens, and of the source, for all layers.

Where tokens lie is one thing for all layers: slots, which hypotheses of a lane (translations of one source, side by
side) share; a mask says which slots are of whose past. What lies there is each layer's: keys and values. So nothing
moves when hypotheses change places, what was given to all of them is kept once, and masks are made once a step.

States are immutable, but for fixed ones: `next` and `reorder` return new ones, and old ones stay good.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from fenster.model.packed import Packed
from fenster.model.pattern import table_rows


@dataclass(frozen=True)
class Moment:
    """The tokens now being predicted, one for each of N hypotheses."""

    sequence: Tensor  # [N] which source sequence
    position: Tensor  # [N] place in the target, from 0
    sentence: Tensor  # [N] sentence index
    center: Tensor  # [N] aligned source place
    width: int = 0  # hypotheses of each source, side by side; 0 where that is not known


@dataclass(frozen=True)
class Sight:
    """What N queries may look at among M slots, which are the same for N / G neighbours."""

    allowed: tuple[Tensor, ...]  # [N or G, M] bool, one for every pattern of a module
    relative: Tensor | None = None  # [N, M] rows of the table of relative positions
    rows: Tensor | None = None  # [G, M] where the slots are among what is kept, if they do not lie side by side


class SelfState(ABC):
    """Self-attention: keys and values [G, slots, 2, H, D] of the tokens so far, of every layer."""

    kv: tuple[Tensor, ...]

    @abstractmethod
    def next(self, now: Moment) -> SelfState:
        """With slots for the tokens at `now`, one for each hypothesis; every layer is still to `put` something in."""

    @abstractmethod
    def look(self, now: Moment, reach: int | None) -> Sight:
        """What the tokens at `now` see, themselves included; `reach` is that of relative positions, if there are."""

    @abstractmethod
    def put(self, layer: int, kv: Tensor) -> Tensor:
        """Keys and values [N, 2, H, D] of the tokens at `now` to their slots; all slots of it [G, M, 2, H, D]."""

    @abstractmethod
    def reorder(self, index: Tensor, width: int = 0, keep: Tensor | None = None) -> SelfState:
        """Hypothesis n goes on from what hypothesis index[n] was. Where `width` is given, `width` neighbours go on
        from hypotheses of one lane: lane after lane, or only the lanes `keep`."""

    capacity: int | None
    """Slots of a lane; None where new tokens take the place of old ones."""

    @abstractmethod
    def fixed(self, more: int) -> SelfState:
        """The same in tensors whose shapes recur, with room for `more` tokens of each hypothesis. From then on `put`
        writes over them: what a CUDA graph wants."""


class CrossState(ABC):
    """Cross-attention: keys and values of the source, of every layer; shared by all hypotheses of a sequence."""

    kv: tuple[Tensor, ...]
    """[G, M, 2, H, D] each; or in other shapes [·, 2, H, D] whose rows a sight tells."""

    @abstractmethod
    def look(self, now: Moment) -> Sight: ...

    def narrow(self, keep: Tensor) -> CrossState:
        """Only sources `keep` are needed from now on; later moments have a `width` and no other sources."""
        return self

    @abstractmethod
    def fixed(self, source: Packed) -> CrossState:
        """The same in tensors whose shapes recur; `source` is the fixed layout."""


def neighbours(hypotheses: Tensor, lanes: Tensor) -> int:
    """Hypotheses of each lane, from how many rows either has; 0 where there are none."""
    return len(hypotheses) // max(1, len(lanes))


def lanes_of(index: Tensor, each: int, width: int, keep: Tensor | None) -> Tensor | None:
    """The lanes that go on after a reordering, where lanes had `each` hypotheses; None: all, as they are."""
    return keep if width else index // max(1, each)


def among(lanes: int, width: int, device: torch.device) -> Tensor:
    """[lanes * width, width] bool: which of its neighbours a hypothesis is."""
    return torch.eye(width, dtype=torch.bool, device=device).repeat(lanes, 1)


def distances(now: Moment, position: Tensor, reach: int | None) -> Tensor | None:
    """[N, M] rows of the table for slots at `position` [G, M]."""
    if reach is None:
        return None
    groups, slots = position.shape
    away = now.position.view(groups, neighbours(now.position, position), 1) - position[:, None]
    return table_rows(away.view(len(now.position), slots), reach)
