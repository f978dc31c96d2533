"""The contract of an attention variant: which patterns its three kinds of module use, and what it keeps when
decoding step by step.

A module whose patterns are several computes one context vector for each and concatenates them (LST does).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from fenster.model.packed import Packed
from fenster.model.pattern import Pattern
from fenster.model.state import CrossState, SelfState


@dataclass(frozen=True)
class Patterns:
    """The patterns of one forward pass, shared by all layers."""

    encoder: tuple[Pattern, ...]
    decoder: tuple[Pattern, ...]
    cross: tuple[Pattern, ...]


class Variant(ABC):
    """One attention variant. Layers know only this contract."""

    branches = 1
    """Patterns of a self-attention module; its output map is this many times wider."""

    @abstractmethod
    def encoder(self, source: Packed) -> tuple[Pattern, ...]: ...

    @abstractmethod
    def decoder(self, target: Packed) -> tuple[Pattern, ...]: ...

    @abstractmethod
    def cross(
        self, source: Packed, target: Packed, center: Tensor, focused: Tensor | None = None
    ) -> tuple[Pattern, ...]:
        """`center` is the alignment of every target token, `focused` marks those whose windows keep to the sentence
        being translated; variants without windows do not use them."""

    @abstractmethod
    def self_state(self, rows: Sequence[Tensor]) -> SelfState:
        """An empty decode-time state of the decoder's self-attention, for hypotheses whose keys and values
        [N, 2, H, D] in each layer will be like `rows`."""

    @abstractmethod
    def filled_state(self, kv: Sequence[Tensor], target: Packed) -> SelfState:
        """The same after whole sequences, one a hypothesis: keys and values [tokens, 2, H, D] of each layer."""

    @abstractmethod
    def cross_state(self, kv: Sequence[Tensor], source: Packed, focus: bool) -> CrossState:
        """The decode-time state of cross-attention over source keys and values [S, 2, H, D] of each layer. With
        `focus` windows keep to the sentence being translated; variants without windows do not look at it."""
