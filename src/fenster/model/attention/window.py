"""Window attention: keys within w of the query's own place, or in cross-attention of its aligned place."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from fenster.model.attention.base import Variant
from fenster.model.packed import Packed
from fenster.model.pattern import Pattern
from fenster.model.state import CrossState, Ring, SelfState, SourceWindow


class Window(Variant):
    def __init__(self, window: int) -> None:
        self.window = window

    def encoder(self, source: Packed) -> tuple[Pattern, ...]:
        return (Pattern(source, source, window=self.window),)

    def decoder(self, target: Packed) -> tuple[Pattern, ...]:
        return (Pattern(target, target, causal=True, window=self.window),)

    def cross(
        self, source: Packed, target: Packed, center: Tensor, focused: Tensor | None = None
    ) -> tuple[Pattern, ...]:
        return (Pattern(target, source, window=self.window, center=center, focused=focused),)

    def self_state(self, rows: Sequence[Tensor]) -> SelfState:
        return Ring.empty(rows, self.window + 1)

    def filled_state(self, kv: Sequence[Tensor], target: Packed) -> SelfState:
        return Ring.of(kv, target, self.window + 1)

    def cross_state(self, kv: Sequence[Tensor], source: Packed, focus: bool) -> CrossState:
        return SourceWindow(tuple(kv), source, self.window, focus)
