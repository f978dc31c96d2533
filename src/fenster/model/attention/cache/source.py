"""Caches of cross-attention: all of the source, or a window of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.model.attention.cache.base import CacheView, CrossAttentionCache, StepPositions
from fenster.model.layout import Layout, pad, round_up_to_bucket


@dataclass(frozen=True)
class FullSourceCache(CrossAttentionCache):
    """Every source token of the hypothesis' sequence."""

    kv: tuple[Tensor, ...]  # [B, S, 2, H, D] each
    lengths: Tensor  # [B]

    @classmethod
    def of(cls, kv: Sequence[Tensor], source: Layout) -> FullSourceCache:
        return cls(tuple(pad(x, source) for x in kv), source.lengths)

    def narrow(self, keep: Tensor) -> FullSourceCache:
        return FullSourceCache(tuple(x[keep] for x in self.kv), self.lengths[keep])

    def view(self, now: StepPositions) -> CacheView:
        allowed = torch.arange(self.kv[0].shape[1], device=self.lengths.device) < self.lengths[:, None]
        if now.n_hyps:
            return CacheView((allowed,))
        slots = torch.arange(allowed.shape[1], device=allowed.device)
        return CacheView((allowed[now.sequence],), rows=now.sequence[:, None] * allowed.shape[1] + slots)

    def with_static_shapes(self, source: Layout) -> FullSourceCache:
        extra = round_up_to_bucket(self.kv[0].shape[1]) - self.kv[0].shape[1]
        return replace(self, kv=tuple(F.pad(x, (0, 0, 0, 0, 0, 0, 0, extra)) for x in self.kv))


@dataclass(frozen=True)
class WindowSourceCache(CrossAttentionCache):
    """The source tokens within `window` of the aligned position: a slice per hypothesis. With `focus`, of these
    only those of the sentence being translated, if there are any."""

    kv: tuple[Tensor, ...]  # [S, 2, H, D] each, packed
    source: Layout
    window: int
    focus: bool = False

    def view(self, now: StepPositions) -> CacheView:
        begin, end = self.source.offsets[now.sequence], self.source.offsets[now.sequence + 1]
        window = min(self.window, self.source.longest)
        offset = torch.arange(-window, window + 1, device=begin.device)
        rows = (begin + now.center)[:, None] + offset
        allowed = (rows >= begin[:, None]) & (rows < end[:, None])
        rows = rows.clamp(0, self.source.tokens - 1)
        if self.focus:
            own = allowed & (self.source.sentence[rows] == now.sentence[:, None])
            allowed = torch.where(own.any(1, keepdim=True), own, allowed)
        return CacheView((allowed,), rows=rows)

    def with_static_shapes(self, source: Layout) -> WindowSourceCache:
        extra = source.tokens - self.source.tokens
        return replace(self, kv=tuple(F.pad(x, (0, 0, 0, 0, 0, 0, 0, extra)) for x in self.kv), source=source)
