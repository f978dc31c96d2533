"""Train avg.: b_i = round(train_ratio * i), the mean source/target ratio of the training parts."""

from __future__ import annotations

from torch import Tensor

from fenster.model.align.base import Alignment, Place, half_up
from fenster.model.packed import Packed


class TrainRatio(Alignment):
    def center(self, place: Place, source: Packed) -> Tensor:
        center = half_up(self.ratio * (place.position + 1).double()) - 1
        return center if source.before is None else center - source.before[place.sequence]

    def lowest(self, position: int, start: int) -> int:
        return int(self.ratio * position) - 1
