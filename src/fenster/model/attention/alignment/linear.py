"""Linear over the whole sequence, b_i = round(J / I * i): the paper's alignment in training."""

from __future__ import annotations

from torch import Tensor

from fenster.model.attention.alignment.base import Alignment, TargetTokens, round_ratio
from fenster.model.layout import Layout


class Linear(Alignment):
    needs_length = True

    def center(self, tokens: TargetTokens, source: Layout) -> Tensor:
        assert tokens.length is not None
        return round_ratio(source.lengths[tokens.sequence] * (tokens.position + 1), tokens.length) - 1

    def lowest(self, position: int, start: int) -> int:
        return 0
