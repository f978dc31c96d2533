"""Window attention: keys within w of the query's own position, or in cross-attention of its aligned position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field, ValidationInfo, field_validator

from fenster.model.attention.alignment import ALIGNMENTS, decoding_alignments
from fenster.model.attention.variants.base import AttentionConfig, ReceptiveField, Variant

if TYPE_CHECKING:
    from torch import Tensor

    from fenster.model.attention.cache import CrossAttentionCache, SelfAttentionCache
    from fenster.model.attention.mask import AttentionMask
    from fenster.model.layout import Layout


class WindowConfig(AttentionConfig):
    """Each query sees only keys within `window` of its position, or in cross-attention of its aligned position."""

    kind: Literal["window"] = "window"
    window: int = Field(default=20, ge=0)
    """w, one-sided: 2w + 1 keys in the encoder and in cross-attention, w + 1 in the decoder."""
    alignment: str = "linear"
    """Around which source token a target token looks, in training and scoring."""
    decoding_alignment: str = "sent-align"
    """The same in decoding, where the target's length is unknown."""
    decoding_focus: bool = False
    """In decoding, restrict cross-attention to the sentence being translated, as far as its window holds it (beyond
    the paper): a model trained with the linear alignment then cannot fall a sentence behind."""

    @field_validator("alignment", "decoding_alignment")
    @classmethod
    def _known(cls, name: str, info: ValidationInfo) -> str:
        if info.field_name == "decoding_alignment" and name not in decoding_alignments():
            raise ValueError(f"unknown alignment for decoding; known: {', '.join(decoding_alignments())}")
        return ALIGNMENTS.known(name)


class Window(Variant[WindowConfig]):
    Config = WindowConfig
    label = "window"
    default_strategy = "sequential"
    compiled = True

    @property
    def window(self) -> int:
        return self.config.window

    @property
    def max_distance(self) -> int:
        return self.config.window

    @property
    def alignment(self) -> str:
        return self.config.alignment

    @property
    def decoding_alignment(self) -> str:
        return self.config.decoding_alignment

    @property
    def focus(self) -> bool:
        return self.config.decoding_focus

    def receptive_field(self, encoder_layers: int, decoder_layers: int) -> ReceptiveField:
        w = self.config.window
        return ReceptiveField(
            target=decoder_layers * w, cross=(decoder_layers - 1) * w, source=w + encoder_layers * w
        )

    def effective_context(self, encoder_layers: int, decoder_layers: int) -> int:
        return 2 * self.config.window * encoder_layers + self.config.window * decoder_layers

    def describe(self) -> str:
        config = self.config
        return (
            f"window attention, w = {config.window}, {config.alignment} alignment in training and "
            f"{config.decoding_alignment} in decoding"
        )

    def encoder(self, source: Layout) -> tuple[AttentionMask, ...]:
        from fenster.model.attention.mask import AttentionMask

        return (AttentionMask(source, source, window=self.window),)

    def decoder(self, target: Layout) -> tuple[AttentionMask, ...]:
        from fenster.model.attention.mask import AttentionMask

        return (AttentionMask(target, target, causal=True, window=self.window),)

    def cross(
        self, source: Layout, target: Layout, center: Tensor, focused: Tensor | None = None
    ) -> tuple[AttentionMask, ...]:
        from fenster.model.attention.mask import AttentionMask

        return (AttentionMask(target, source, window=self.window, center=center, focused=focused),)

    def empty_cache(self, rows: Sequence[Tensor]) -> SelfAttentionCache:
        from fenster.model.attention.cache import WindowCache

        return WindowCache.empty(rows, self.window + 1)

    def filled_cache(self, kv: Sequence[Tensor], target: Layout) -> SelfAttentionCache:
        from fenster.model.attention.cache import WindowCache

        return WindowCache.of(kv, target, self.window + 1)

    def source_cache(self, kv: Sequence[Tensor], source: Layout, focus: bool) -> CrossAttentionCache:
        from fenster.model.attention.cache import WindowSourceCache

        return WindowSourceCache(tuple(kv), source, self.window, focus)
