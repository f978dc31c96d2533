"""LST attention (Zhang et al. 2020; SPEC section 3): full and sentence-restricted self-attention, concatenated
and mapped by one matrix of twice the width. Queries, keys and values are shared by both; cross-attention is full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from fenster.model.attention.full import Full
from fenster.model.packed import Packed
from fenster.model.pattern import Pattern
from fenster.model.state import Growing, SelfState


class Lst(Full):
    branches = 2

    def encoder(self, source: Packed) -> tuple[Pattern, ...]:
        return _both(*super().encoder(source))

    def decoder(self, target: Packed) -> tuple[Pattern, ...]:
        return _both(*super().decoder(target))

    def self_state(self, rows: Sequence[Tensor]) -> SelfState:
        return Growing.empty(rows, restricted=True)

    def filled_state(self, kv: Sequence[Tensor], target: Packed) -> SelfState:
        return Growing.of(kv, target, restricted=True)


def _both(pattern: Pattern) -> tuple[Pattern, ...]:
    return pattern, replace(pattern, same_sentence=True)
