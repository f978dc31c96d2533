"""Linear over the whole sequence, b_i = round(J / I * i): the paper's alignment in training."""

from __future__ import annotations

from fenster.model.attention.alignment.base import Alignment, Integers, Sequences, TargetTokens, round_ratio


class Linear(Alignment):
    needs_length = True

    def center(self, tokens: TargetTokens, source: Sequences) -> Integers:
        assert tokens.length is not None
        return round_ratio(source.lengths[tokens.sequence] * (tokens.position + 1), tokens.length) - 1

    def lowest(self, position: int, start: int) -> int:
        return 0
