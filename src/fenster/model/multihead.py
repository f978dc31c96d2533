"""Multi-head attention: projections, heads, and the call of a backend. Knows no variant."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fenster.model.attention.backends import attend
from fenster.model.attention.backends.decode_step import decode_attention
from fenster.model.attention.cache import CacheView, CrossAttentionCache, SelfAttentionCache
from fenster.model.attention.mask import AttentionMask, Relative
from fenster.model.attention.probe import ProbePoint
from fenster.model.init import init_weights


class MultiHeadAttention(nn.Module):
    """What self- and cross-attention share. `branches` context vectors are concatenated before the output
    projection."""

    table: nn.Parameter | None

    def __init__(self, d_model: int, heads: int, branches: int, max_distance: int | None, backend: str) -> None:
        super().__init__()
        self.heads, self.backend = heads, backend
        self.out = nn.Linear(branches * d_model, d_model)
        init_weights(self.out, d_model)
        if max_distance is None:
            self.table = None
        else:
            size = d_model // heads
            self.table = nn.Parameter(torch.randn(2 * max_distance + 1, heads, size) * size**-0.5)  # r_{i-j}

    def _split(self, x: Tensor) -> Tensor:
        return x.view(len(x), self.heads, x.shape[-1] // self.heads)  # [tokens, H, D]

    @property
    def relative(self) -> Relative | None:
        return None if self.table is None else Relative(self.table)

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, masks: Sequence[AttentionMask], probe_point: ProbePoint | None
    ) -> Tensor:
        """[T, d_model] from heads [·, H, D]."""
        if probe_point is not None:
            probe_point.record(q, k, masks, self.relative)
        contexts = [attend(self.backend, q, k, v, mask, self.relative) for mask in masks]
        return self.combine_heads(contexts)

    def _attend_cached(self, q: Tensor, kv: Tensor, view: CacheView) -> Tensor:
        """One query [N, H, D] per hypothesis against the slots of a cache."""
        return self.combine_heads(decode_attention(q, kv, view, self.table))

    def combine_heads(self, contexts: list[Tensor]) -> Tensor:
        flat = [context.flatten(1) for context in contexts]
        out: Tensor = self.out(flat[0] if len(flat) == 1 else torch.cat(flat, -1))
        return out


class SelfAttention(MultiHeadAttention):
    """Self-attention: one projection to queries, keys and values."""

    def __init__(self, d_model: int, heads: int, branches: int, max_distance: int | None, backend: str) -> None:
        super().__init__(d_model, heads, branches, max_distance, backend)
        self.qkv = _projection(d_model, 3)

    def forward(self, x: Tensor, masks: Sequence[AttentionMask], probe_point: ProbePoint | None = None) -> Tensor:
        q, k, v = map(self._split, self.qkv(x).chunk(3, -1))
        return self._attend(q, k, v, masks, probe_point)

    def prefill(self, x: Tensor, masks: Sequence[AttentionMask]) -> tuple[Tensor, Tensor]:
        """Whole sequences [tokens, d_model]; also their keys and values [tokens, 2, H, D]."""
        q, kv = self.project_qkv(x)
        k, v = kv.unbind(1)
        return self._attend(q, k, v, masks, None), kv

    def step(self, x: Tensor, layer: int, cache: SelfAttentionCache, view: CacheView) -> Tensor:
        """One token [N, d_model] per hypothesis, written to its slot in the cache."""
        q, kv = self.project_qkv(x)
        return self._attend_cached(q, cache.write(layer, kv), view)

    def project_qkv(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Queries [rows, H, D], keys and values [rows, 2, H, D]."""
        rows, d_model = x.shape
        joined = self.qkv(x)
        q, kv = joined[:, :d_model], joined[:, d_model:]
        return self._split(q), kv.view(rows, 2, self.heads, d_model // self.heads)


class CrossAttention(MultiHeadAttention):
    """Cross-attention: queries from the target, keys and values from the source."""

    def __init__(self, d_model: int, heads: int, backend: str) -> None:
        super().__init__(d_model, heads, 1, None, backend)
        self.q = _projection(d_model, 1)
        self.kv = _projection(d_model, 2)

    def forward(
        self, x: Tensor, memory: Tensor, masks: Sequence[AttentionMask], probe_point: ProbePoint | None = None
    ) -> Tensor:
        return self.attend_source(x, self.project_source(memory), masks, probe_point)

    def attend_source(
        self, x: Tensor, kv: Tensor, masks: Sequence[AttentionMask], probe_point: ProbePoint | None = None
    ) -> Tensor:
        """The same with keys and values [S, 2, H, D] that `project_source` gave."""
        k, v = kv.unbind(1)
        return self._attend(self._split(self.q(x)), k, v, masks, probe_point)

    def project_source(self, memory: Tensor) -> Tensor:
        """Keys and values [S, 2, H, D] of the encoded source."""
        rows, d_model = memory.shape
        kv: Tensor = self.kv(memory).view(rows, 2, self.heads, d_model // self.heads)
        return kv

    def step(self, x: Tensor, layer: int, cache: CrossAttentionCache, view: CacheView) -> Tensor:
        return self._attend_cached(self._split(self.q(x)), cache.kv[layer], view)


def _projection(d_model: int, parts: int) -> nn.Linear:
    """Several square maps in one."""
    linear = nn.Linear(d_model, parts * d_model)
    init_weights(linear, d_model)
    return linear
