"""Sent-linear (beyond the paper): linear inside each sentence pair, never outside its source sentence.

Where the target sentence's length is known (training, scoring) the slope is the true J_n / I_n. In decoding it is
not, and the length is taken to be J_n / train_ratio; a translation that runs on stays at the source sentence's
end. So training and decoding meet at every separator, which linear and sent-align do not.
"""

from __future__ import annotations

from fenster.model.attention.alignment.base import (
    Alignment,
    Integers,
    Sequences,
    TargetTokens,
    as_float64,
    round_half_up,
    round_ratio,
)


class SentLinear(Alignment):
    def center(self, tokens: TargetTokens, source: Sequences) -> Integers:
        last = source.starts.shape[1] - 1
        start = source.starts[tokens.sequence, tokens.sentence.clip(max=last)]
        end = source.starts[tokens.sequence, (tokens.sentence + 1).clip(max=last)]
        source_length = (end - start).clip(min=1)  # 1 only beyond the last source sentence
        length = tokens.sentence_length
        if length is None:
            length = round_half_up(as_float64(source_length) / self.ratio).clip(min=1)
        inner = round_ratio(source_length * (tokens.inner + 1), length.clip(min=1)) - 1
        return start + inner.clip(min=0).clip(max=source_length - 1)

    def lowest(self, position: int, start: int) -> int:
        return start
