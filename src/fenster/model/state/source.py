"""What cross-attention keeps of the source: all of it, or a window of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.model.packed import Packed, pad, recurring
from fenster.model.state.base import CrossState, Moment, Sight


@dataclass(frozen=True)
class WholeSource(CrossState):
    """Every source token of the hypothesis' sequence."""

    kv: tuple[Tensor, ...]  # [B, S, 2, H, D] each
    lengths: Tensor  # [B]

    @classmethod
    def of(cls, kv: Sequence[Tensor], source: Packed) -> WholeSource:
        return cls(tuple(pad(x, source) for x in kv), source.lengths)

    def narrow(self, keep: Tensor) -> WholeSource:
        return WholeSource(tuple(x[keep] for x in self.kv), self.lengths[keep])

    def look(self, now: Moment) -> Sight:
        allowed = torch.arange(self.kv[0].shape[1], device=self.lengths.device) < self.lengths[:, None]
        if now.width:
            return Sight((allowed,))
        slots = torch.arange(allowed.shape[1], device=allowed.device)
        return Sight((allowed[now.sequence],), rows=now.sequence[:, None] * allowed.shape[1] + slots)

    def fixed(self, source: Packed) -> WholeSource:
        more = recurring(self.kv[0].shape[1]) - self.kv[0].shape[1]
        return replace(self, kv=tuple(F.pad(x, (0, 0, 0, 0, 0, 0, 0, more)) for x in self.kv))


@dataclass(frozen=True)
class SourceWindow(CrossState):
    """The source tokens within `window` of the aligned place: a slice for each hypothesis. With `focus`, of these
    only those of the sentence being translated, where there are any."""

    kv: tuple[Tensor, ...]  # [S, 2, H, D] each, packed
    source: Packed
    window: int
    focus: bool = False

    def look(self, now: Moment) -> Sight:
        begin, end = self.source.offsets[now.sequence], self.source.offsets[now.sequence + 1]
        window = min(self.window, self.source.longest)
        offset = torch.arange(-window, window + 1, device=begin.device)
        rows = (begin + now.center)[:, None] + offset
        allowed = (rows >= begin[:, None]) & (rows < end[:, None])
        rows = rows.clamp(0, self.source.tokens - 1)
        if self.focus:
            own = allowed & (self.source.sentence[rows] == now.sentence[:, None])
            allowed = torch.where(own.any(1, keepdim=True), own, allowed)
        return Sight((allowed,), rows=rows)

    def fixed(self, source: Packed) -> SourceWindow:
        more = source.tokens - self.source.tokens
        return replace(self, kv=tuple(F.pad(x, (0, 0, 0, 0, 0, 0, 0, more)) for x in self.kv), source=source)
