"""Sent-linear (beyond the paper): linear inside each sentence pair, never outside its source sentence.

Where the target sentence's length is known (training, scoring) the slope is the true J_n / I_n. In decoding it is
not, and the length is taken to be J_n / train_ratio; a translation that runs on stays at the source sentence's
end. So training and decoding meet at every separator, which linear and sent-align do not.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fenster.model.align.base import Alignment, Place, half_up, rounded
from fenster.model.packed import Packed


class SentLinear(Alignment):
    def center(self, place: Place, source: Packed) -> Tensor:
        last = source.starts.shape[1] - 1
        start = source.starts[place.sequence, place.sentence.clamp(max=last)]
        end = source.starts[place.sequence, (place.sentence + 1).clamp(max=last)]
        tokens = (end - start).clamp(min=1)  # 1 only beyond the last source sentence
        length = place.sentence_length
        if length is None:
            length = half_up(tokens.double() / self.ratio).clamp(min=1)
        inner = rounded(tokens * (place.inner + 1), length.clamp(min=1)) - 1
        return start + torch.minimum(inner.clamp(min=0), tokens - 1)
