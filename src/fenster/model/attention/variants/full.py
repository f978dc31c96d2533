"""Full attention: everything sees everything (the decoder: everything before)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from fenster.model.attention.variants.base import AnyAttentionConfig, AttentionConfig, Variant

if TYPE_CHECKING:
    from torch import Tensor

    from fenster.model.attention.cache import CrossAttentionCache, SelfAttentionCache
    from fenster.model.attention.mask import AttentionMask
    from fenster.model.layout import Layout


class FullConfig(AttentionConfig):
    """Full attention over the whole sequence (sentence-level and concatenation systems)."""

    kind: Literal["full"] = "full"
    max_distance: int = Field(default=20, ge=1)
    """With relative positions: larger distances are all treated alike."""


class FullBase(Variant[AnyAttentionConfig]):
    """What variants with a full cross-attention share."""

    def encoder(self, source: Layout) -> tuple[AttentionMask, ...]:
        from fenster.model.attention.mask import AttentionMask

        return (AttentionMask(source, source),)

    def decoder(self, target: Layout) -> tuple[AttentionMask, ...]:
        from fenster.model.attention.mask import AttentionMask

        return (AttentionMask(target, target, causal=True),)

    def cross(
        self, source: Layout, target: Layout, center: Tensor, focused: Tensor | None = None
    ) -> tuple[AttentionMask, ...]:
        from fenster.model.attention.mask import AttentionMask

        return (AttentionMask(target, source),)

    def empty_cache(self, rows: Sequence[Tensor]) -> SelfAttentionCache:
        from fenster.model.attention.cache import FullCache

        return FullCache.empty(rows)

    def filled_cache(self, kv: Sequence[Tensor], target: Layout) -> SelfAttentionCache:
        from fenster.model.attention.cache import FullCache

        return FullCache.of(kv, target)

    def source_cache(self, kv: Sequence[Tensor], source: Layout, focus: bool) -> CrossAttentionCache:
        from fenster.model.attention.cache import FullSourceCache

        return FullSourceCache.of(kv, source)


class Full(FullBase[FullConfig]):
    Config = FullConfig
    label = "concat"
    sentence_label = "sentence"
    compiled = True

    @property
    def max_distance(self) -> int:
        return self.config.max_distance
