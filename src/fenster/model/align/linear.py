"""Linear over the whole sequence, b_i = round(J / I * i): the paper's alignment in training."""

from __future__ import annotations

from torch import Tensor

from fenster.model.align.base import Alignment, Place, rounded
from fenster.model.packed import Packed


class Linear(Alignment):
    needs_length = True

    def center(self, place: Place, source: Packed) -> Tensor:
        assert place.length is not None
        return rounded(source.lengths[place.sequence] * (place.position + 1), place.length) - 1
