"""Attention variants. A new one is one new file, with its settings, and one line in VARIANTS."""

from __future__ import annotations

from fenster.model.attention.variants.base import AnyVariant, AttentionConfig, LayerMasks, ReceptiveField, Variant
from fenster.model.attention.variants.full import Full
from fenster.model.attention.variants.lst import Lst
from fenster.model.attention.variants.window import Window
from fenster.registry import Registry

VARIANTS: Registry[type[AnyVariant]] = Registry("attention variant", {"full": Full, "lst": Lst, "window": Window})


def make_variant(config: AttentionConfig) -> AnyVariant:
    return VARIANTS[config.kind](config)


__all__ = [
    "VARIANTS",
    "AnyVariant",
    "AttentionConfig",
    "LayerMasks",
    "ReceptiveField",
    "Variant",
    "make_variant",
]
