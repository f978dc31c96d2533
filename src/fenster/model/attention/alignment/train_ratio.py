"""Train avg.: b_i = round(train_ratio * i), the mean source/target ratio of the training parts."""

from __future__ import annotations

from fenster.model.attention.alignment.base import (
    Alignment,
    Integers,
    Sequences,
    TargetTokens,
    as_float64,
    round_half_up,
)


class TrainRatio(Alignment):
    by_sentence = False

    def center(self, tokens: TargetTokens, source: Sequences) -> Integers:
        center = round_half_up(self.ratio * as_float64(tokens.position + 1)) - 1
        offset = source.document_offset
        return center if offset is None else center - offset[tokens.sequence]

    def lowest(self, position: int, start: int) -> int:
        return int(self.ratio * position) - 1
