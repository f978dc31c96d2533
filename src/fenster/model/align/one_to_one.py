"""1-1: b_i = i. In self-attention, where source and target are the same, this is the identity."""

from __future__ import annotations

from torch import Tensor

from fenster.model.align.base import Alignment, Place
from fenster.model.packed import Packed


class OneToOne(Alignment):
    def center(self, place: Place, source: Packed) -> Tensor:
        return place.position if source.before is None else place.position - source.before[place.sequence]

    def lowest(self, position: int, start: int) -> int:
        return position
