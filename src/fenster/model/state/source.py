"""What cross-attention keeps of the source: all of it, or a window of it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.model.packed import Packed, pad, recurring
from fenster.model.state.base import CrossState, Moment, View


@dataclass(frozen=True)
class WholeSource(CrossState):
    """Every source token of the hypothesis' sequence."""

    k: Tensor  # [B, S, H, D]
    v: Tensor
    lengths: Tensor  # [B]

    def narrow(self, keep: Tensor) -> WholeSource:
        return WholeSource(self.k[keep], self.v[keep], self.lengths[keep])

    @classmethod
    def of(cls, k: Tensor, v: Tensor, source: Packed) -> WholeSource:
        return cls(pad(k, source), pad(v, source), source.lengths)

    def fixed(self, source: Packed) -> WholeSource:
        more = recurring(self.k.shape[1]) - self.k.shape[1]
        k, v = (F.pad(x, (0, 0, 0, 0, 0, more)) for x in (self.k, self.v))
        return WholeSource(k, v, self.lengths)

    def view(self, now: Moment) -> View:
        allowed = torch.arange(self.k.shape[1], device=self.k.device) < self.lengths[:, None]
        k, v = self.k.transpose(1, 2), self.v.transpose(1, 2)
        if now.width:
            return View(k, v, (allowed,))
        return View(k[now.sequence], v[now.sequence], (allowed[now.sequence],))


@dataclass(frozen=True)
class SourceWindow(CrossState):
    """The source tokens within `window` of the aligned place: a slice for each hypothesis. With `focus`, of these
    only those of the sentence being translated, where there are any."""

    k: Tensor  # [S, H, D], packed
    v: Tensor
    source: Packed
    window: int
    focus: bool = False

    def fixed(self, source: Packed) -> SourceWindow:
        more = source.tokens - len(self.k)
        k, v = (F.pad(x, (0, 0, 0, 0, 0, more)) for x in (self.k, self.v))
        return SourceWindow(k, v, source, self.window, self.focus)

    def view(self, now: Moment) -> View:
        begin, end = self.source.offsets[now.sequence], self.source.offsets[now.sequence + 1]
        window = min(self.window, self.source.longest)
        offset = torch.arange(-window, window + 1, device=self.k.device)
        index = (begin + now.center)[:, None] + offset
        allowed = (index >= begin[:, None]) & (index < end[:, None])
        index = index.clamp(0, len(self.k) - 1)
        if self.focus:
            own = allowed & (self.source.sentence[index] == now.sentence[:, None])
            allowed = torch.where(own.any(1, keepdim=True), own, allowed)
        # Rows of a table: far faster on a CPU than indexing with [N, M] indices.
        k, v = (
            F.embedding(index, x.flatten(1)).view(*index.shape, *x.shape[1:]).transpose(1, 2)
            for x in (self.k, self.v)
        )
        return View(k, v, (allowed,))
