"""Sent-align: at each sentence start jump to the source sentence's first token, then one by one.

Inside a sentence b grows without regard to the source sentence's end; the next separator jumps again, backwards
too. Surplus target sentences look at the end of the source.
"""

from __future__ import annotations

from fenster.model.attention.alignment.base import Alignment, Integers, Sequences, TargetTokens


class SentAlign(Alignment):
    def center(self, tokens: TargetTokens, source: Sequences) -> Integers:
        last = source.starts.shape[1] - 1
        return source.starts[tokens.sequence, tokens.sentence.clip(max=last)] + tokens.inner

    def lowest(self, position: int, start: int) -> int:
        return start
