"""1-1: b_i = i. In self-attention, where source and target are the same, this is the identity."""

from __future__ import annotations

from fenster.model.attention.alignment.base import Alignment, Integers, Sequences, TargetTokens


class OneToOne(Alignment):
    by_sentence = False

    def center(self, tokens: TargetTokens, source: Sequences) -> Integers:
        offset = source.document_offset
        return tokens.position if offset is None else tokens.position - offset[tokens.sequence]

    def lowest(self, position: int, start: int) -> int:
        return position
