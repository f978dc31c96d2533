"""1-1: b_i = i. In self-attention, where source and target are the same, this is the identity."""

from __future__ import annotations

from torch import Tensor

from fenster.model.attention.alignment.base import Alignment, TargetTokens
from fenster.model.layout import Layout


class OneToOne(Alignment):
    def center(self, tokens: TargetTokens, source: Layout) -> Tensor:
        return (
            tokens.position
            if source.document_offset is None
            else tokens.position - source.document_offset[tokens.sequence]
        )

    def lowest(self, position: int, start: int) -> int:
        return position
