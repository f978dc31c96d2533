"""Full attention: everything sees everything (the decoder: everything before)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field
from torch import Tensor

from fenster.model.attention.cache import CrossAttentionCache, FullCache, FullSourceCache, SelfAttentionCache
from fenster.model.attention.mask import AttentionMask
from fenster.model.attention.variants.base import AnyAttentionConfig, AttentionConfig, Variant
from fenster.model.layout import Layout


class FullConfig(AttentionConfig):
    """Full attention over the whole sequence (sentence-level and concatenation systems)."""

    kind: Literal["full"] = "full"
    max_distance: int = Field(default=20, ge=1)
    """With relative positions: larger distances are all treated alike."""


class FullBase(Variant[AnyAttentionConfig]):
    """What variants with a full cross-attention share."""

    def encoder(self, source: Layout) -> tuple[AttentionMask, ...]:
        return (AttentionMask(source, source),)

    def decoder(self, target: Layout) -> tuple[AttentionMask, ...]:
        return (AttentionMask(target, target, causal=True),)

    def cross(
        self, source: Layout, target: Layout, center: Tensor, focused: Tensor | None = None
    ) -> tuple[AttentionMask, ...]:
        return (AttentionMask(target, source),)

    def empty_cache(self, rows: Sequence[Tensor]) -> SelfAttentionCache:
        return FullCache.empty(rows)

    def filled_cache(self, kv: Sequence[Tensor], target: Layout) -> SelfAttentionCache:
        return FullCache.of(kv, target)

    def source_cache(self, kv: Sequence[Tensor], source: Layout, focus: bool) -> CrossAttentionCache:
        return FullSourceCache.of(kv, source)


class Full(FullBase[FullConfig]):
    Config = FullConfig
    label = "concat"
    sentence_label = "sentence"

    @property
    def max_distance(self) -> int:
        return self.config.max_distance
