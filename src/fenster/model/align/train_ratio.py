"""Train avg.: b_i = round(train_ratio * i), the mean source/target ratio of the training parts."""

from __future__ import annotations

import torch
from torch import Tensor

from fenster.model.align.base import Alignment, Place
from fenster.model.packed import Packed


class TrainRatio(Alignment):
    def center(self, place: Place, source: Packed) -> Tensor:
        return torch.floor(self.ratio * (place.position + 1).double() + 0.5).long() - 1
