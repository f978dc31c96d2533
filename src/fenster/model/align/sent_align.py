"""Sent-align: at each sentence start jump to the source sentence's first token, then one by one.

Inside a sentence b grows without regard to the source sentence's end; the next separator jumps again, backwards
too. Surplus target sentences look at the end of the source.
"""

from __future__ import annotations

from torch import Tensor

from fenster.model.align.base import Alignment, Place
from fenster.model.packed import Packed


class SentAlign(Alignment):
    def center(self, place: Place, source: Packed) -> Tensor:
        last = source.starts.shape[1] - 1
        return source.starts[place.sequence, place.sentence.clamp(max=last)] + place.inner
