"""Train avg.: b_i = round(train_ratio * i), the mean source/target ratio of the training parts."""

from __future__ import annotations

from torch import Tensor

from fenster.model.attention.alignment.base import Alignment, TargetTokens, round_half_up
from fenster.model.layout import Layout


class TrainRatio(Alignment):
    def center(self, tokens: TargetTokens, source: Layout) -> Tensor:
        center = round_half_up(self.ratio * (tokens.position + 1).double()) - 1
        return center if source.document_offset is None else center - source.document_offset[tokens.sequence]

    def lowest(self, position: int, start: int) -> int:
        return int(self.ratio * position) - 1
