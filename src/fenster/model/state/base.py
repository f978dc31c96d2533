"""The contract of decode-time state: what a layer keeps of earlier tokens.

Hypotheses of a lane (translations of one source, side by side) share the slots in which keys and values lie; a mask
says which slots are of whose past. So nothing moves when hypotheses change places, and what was given to all of
them is kept once. States are immutable, but for fixed ones: `add` and `reorder` return new ones, and old ones stay
good.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from fenster.model.packed import Packed


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
    """Keys and values that N queries may look at: M slots, the same for N / G neighbours. One mask for every pattern
    of the module, for each query or for all neighbours together."""

    k: Tensor  # [G, H, M, D]
    v: Tensor  # [G, H, M, D]
    allowed: tuple[Tensor, ...]  # [N or G, M] bool each
    position: Tensor | None = None  # [G, M] of the slots, for relative positions


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
    def reorder(self, index: Tensor, width: int = 0, keep: Tensor | None = None) -> SelfState:
        """Hypothesis n goes on from what hypothesis index[n] was. Where `width` is given, `width` neighbours go on
        from hypotheses of one lane: lane after lane, or only the lanes `keep`."""

    capacity: int | None
    """Slots of a lane; None where new tokens take the place of old ones."""

    @abstractmethod
    def fixed(self, more: int) -> SelfState:
        """The same in tensors whose shapes recur, with room for `more` tokens of each hypothesis. From then on `add`
        writes over them: what a CUDA graph wants."""


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


def neighbours(hypotheses: Tensor, lanes: Tensor) -> int:
    """Hypotheses of each lane, from how many rows either has; 0 where there are none."""
    return len(hypotheses) // max(1, len(lanes))


def lanes_of(index: Tensor, each: int, width: int, keep: Tensor | None) -> Tensor | None:
    """The lanes that go on after a reordering, where lanes had `each` hypotheses; None: all, as they are."""
    return keep if width else index // max(1, each)


def among(lanes: int, width: int, device: torch.device) -> Tensor:
    """[lanes * width, width] bool: which of its neighbours a hypothesis is."""
    return torch.eye(width, dtype=torch.bool, device=device).repeat(lanes, 1)
