"""Decode-time state: one file for each way of keeping what attention needs, all with the contract of `base`."""

from __future__ import annotations

from fenster.model.attention.cache.base import (
    CacheView,
    CrossAttentionCache,
    SelfAttentionCache,
    StepPositions,
    hyps_per_group,
)
from fenster.model.attention.cache.full import FullCache
from fenster.model.attention.cache.source import FullSourceCache, WindowSourceCache
from fenster.model.attention.cache.window import WindowCache

__all__ = [
    "CacheView",
    "CrossAttentionCache",
    "FullCache",
    "FullSourceCache",
    "SelfAttentionCache",
    "StepPositions",
    "WindowCache",
    "WindowSourceCache",
    "hyps_per_group",
]
