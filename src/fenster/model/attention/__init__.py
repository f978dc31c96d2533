"""Attention variants. A new one is one new file and one line in VARIANTS (and its config)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fenster.model.attention.base import Patterns, Variant
from fenster.model.attention.full import Full
from fenster.model.attention.lst import Lst
from fenster.model.attention.window import Window
from fenster.model.config import AttentionConfig

VARIANTS: dict[str, Callable[[Any], Variant]] = {
    "full": lambda config: Full(),
    "lst": lambda config: Lst(),
    "window": lambda config: Window(config.window),
}


def make_variant(config: AttentionConfig) -> Variant:
    return VARIANTS[config.kind](config)


__all__ = ["VARIANTS", "Patterns", "Variant", "make_variant"]
