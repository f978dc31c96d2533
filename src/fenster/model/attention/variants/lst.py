"""LST attention (Zhang et al. 2020): full and sentence-restricted self-attention, concatenated and mapped by one
projection of twice the width. Queries, keys and values are shared by both; cross-attention is full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from fenster.model.attention.variants.base import AttentionConfig
from fenster.model.attention.variants.full import FullBase

if TYPE_CHECKING:
    from torch import Tensor

    from fenster.model.attention.cache import SelfAttentionCache
    from fenster.model.attention.mask import AttentionMask
    from fenster.model.layout import Layout


class LstConfig(AttentionConfig):
    """Full and sentence-restricted self-attention side by side (Zhang et al. 2020); full cross-attention."""

    kind: Literal["lst"] = "lst"


class Lst(FullBase[LstConfig]):
    Config = LstConfig
    label = "LST"
    branches = 2
    relative_positions = False
    compiled = True

    def encoder(self, source: Layout) -> tuple[AttentionMask, ...]:
        return _both(*super().encoder(source))

    def decoder(self, target: Layout) -> tuple[AttentionMask, ...]:
        return _both(*super().decoder(target))

    def empty_cache(self, rows: Sequence[Tensor]) -> SelfAttentionCache:
        from fenster.model.attention.cache import FullCache

        return FullCache.empty(rows, restricted=True)

    def filled_cache(self, kv: Sequence[Tensor], target: Layout) -> SelfAttentionCache:
        from fenster.model.attention.cache import FullCache

        return FullCache.of(kv, target, restricted=True)


def _both(mask: AttentionMask) -> tuple[AttentionMask, ...]:
    return mask, replace(mask, same_sentence=True)
