"""Vanilla attention: everything sees everything (the decoder: everything before)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from fenster.model.attention.base import Variant
from fenster.model.packed import Packed
from fenster.model.pattern import Pattern
from fenster.model.state import CrossState, Growing, SelfState, WholeSource


class Full(Variant):
    def encoder(self, source: Packed) -> tuple[Pattern, ...]:
        return (Pattern(source, source),)

    def decoder(self, target: Packed) -> tuple[Pattern, ...]:
        return (Pattern(target, target, causal=True),)

    def cross(
        self, source: Packed, target: Packed, center: Tensor, focused: Tensor | None = None
    ) -> tuple[Pattern, ...]:
        return (Pattern(target, source),)

    def self_state(self, rows: Sequence[Tensor]) -> SelfState:
        return Growing.empty(rows)

    def filled_state(self, kv: Sequence[Tensor], target: Packed) -> SelfState:
        return Growing.of(kv, target)

    def cross_state(self, kv: Sequence[Tensor], source: Packed, focus: bool) -> CrossState:
        return WholeSource.of(kv, source)
