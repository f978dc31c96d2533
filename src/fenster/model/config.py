"""What a model is: sizes, attention variant, positions. `PRESETS` holds the usual sizes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from fenster.config import Config, check
from fenster.errors import ConfigError
from fenster.model.align import ALIGNMENTS
from fenster.model.compute import COMPUTE

Checkpointing = Literal["none", "ffn", "layers"]
"""What training computes again in the backward pass instead of keeping it."""


class FullConfig(Config):
    """Vanilla attention over the whole sequence (sentence-level and concatenation systems)."""

    kind: Literal["full"] = "full"
    reach: int = Field(default=20, ge=1)
    """With relative positions: distances beyond this are all treated alike."""


class LstConfig(Config):
    """Full and sentence-restricted self-attention side by side (Zhang et al. 2020); full cross-attention."""

    kind: Literal["lst"] = "lst"


class WindowConfig(Config):
    """Each query sees only keys within `window` of its place, or in cross-attention of its aligned place."""

    kind: Literal["window"] = "window"
    window: int = Field(default=20, ge=0)
    """w, one-sided: 2w + 1 keys in the encoder and in cross-attention, w + 1 in the decoder."""
    alignment: str = "linear"
    """Around which source token a target token looks, in training and scoring."""
    decoding_alignment: str = "sent-align"
    """The same in decoding, where the target's length is not known."""
    decoding_focus: bool = False
    """In decoding, let cross-attention see only the sentence being translated, of what its window holds (beyond the
    paper): a model trained with the linear alignment then cannot fall a sentence behind."""

    @field_validator("alignment", "decoding_alignment")
    @classmethod
    def _known(cls, name: str, info: ValidationInfo) -> str:
        decoding = info.field_name == "decoding_alignment"
        fit = [known for known, kind in ALIGNMENTS.items() if not (decoding and kind.needs_length)]
        if name not in fit:
            raise ValueError(f"no such alignment{' for decoding' if decoding else ''}; there are: {', '.join(fit)}")
        return name


AttentionConfig = Annotated[FullConfig | LstConfig | WindowConfig, Field(discriminator="kind")]


class ModelConfig(Config):
    """A transformer. The defaults are the paper's base size with full attention."""

    encoder_layers: int = Field(default=6, ge=1)
    decoder_layers: int = Field(default=6, ge=1)
    width: int = Field(default=512, ge=1)
    """Size of embeddings and layers (d)."""
    ffn: int = Field(default=2048, ge=1)
    """Size of the feed-forward layers' inside."""
    heads: int = Field(default=8, ge=1)
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Of embeddings and sub-layer outputs; none on attention weights, as in fairseq."""
    activation_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Inside the feed-forward, after the ReLU; none in fairseq's base. As much as 0.3 there slows learning a lot."""
    norm: Literal["post", "pre"] = "post"
    """Layer norm after each sub-layer (the paper's base) or before."""
    positions: Literal["sinusoidal", "relative"] = "sinusoidal"
    """Absolute sinusoids added to the embeddings, or learned r_{i-j} in self-attention instead."""
    attention: AttentionConfig = FullConfig()
    compute: str = "auto"
    """How attention is computed; auto takes the fastest that fits."""

    @field_validator("compute")
    @classmethod
    def _known(cls, name: str) -> str:
        if name != "auto" and name not in COMPUTE:
            raise ValueError(f"no such computation; there are: auto, {', '.join(COMPUTE)}")
        return name

    @model_validator(mode="after")
    def _fits(self) -> ModelConfig:
        if self.width % (2 * self.heads):
            raise ValueError(f"width {self.width} must be divisible by twice the heads, {2 * self.heads}")
        if self.positions == "relative" and self.attention.kind == "lst":
            raise ValueError("relative positions are not defined for lst attention")
        return self

    @property
    def reach(self) -> int | None:
        """Largest distance with a relative vector of its own; None without relative positions."""
        if self.positions == "sinusoidal" or self.attention.kind == "lst":
            return None
        return self.attention.window if self.attention.kind == "window" else self.attention.reach


PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {"encoder_layers": 2, "decoder_layers": 2, "width": 64, "ffn": 256, "heads": 4},
    "small": {"encoder_layers": 4, "decoder_layers": 4, "width": 256, "ffn": 1024, "heads": 4},
    "base": {},
}


def preset(name: str, **changes: Any) -> ModelConfig:
    """A preset with some keys changed."""
    if name not in PRESETS:
        raise ConfigError(f"no preset is called {name!r}", expected=", ".join(PRESETS))
    return check({**PRESETS[name], **changes}, ModelConfig)
