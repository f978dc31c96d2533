"""What a model is: sizes, attention variant, positions. `PRESETS` holds the usual sizes."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, SerializeAsAny, field_validator, model_validator

from fenster.config import Config, check
from fenster.model.attention.variants import VARIANTS, AnyVariant, AttentionConfig, make_variant
from fenster.model.attention.variants.full import FullConfig
from fenster.registry import Registry

Checkpointing = Literal["none", "ffn", "layers"]
"""What training computes again in the backward pass instead of keeping it."""


class ModelConfig(Config):
    """A transformer. The defaults are the paper's base size with full attention."""

    encoder_layers: int = Field(default=6, ge=1)
    decoder_layers: int = Field(default=6, ge=1)
    d_model: int = Field(default=512, ge=1)
    """Size of embeddings and layers (d)."""
    ffn: int = Field(default=2048, ge=1)
    """Inner size of the feed-forward layers."""
    heads: int = Field(default=8, ge=1)
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Of embeddings and sub-layer outputs; none on attention weights, as in fairseq."""
    activation_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Inside the feed-forward, after the ReLU; none in fairseq's base. As much as 0.3 there slows learning a lot."""
    norm: Literal["post", "pre"] = "post"
    """Layer norm after each sub-layer (the paper's base) or before."""
    positions: Literal["sinusoidal", "relative"] = "sinusoidal"
    """Absolute sinusoids added to the embeddings, or learned r_{i-j} in self-attention instead."""
    attention: SerializeAsAny[AttentionConfig] = FullConfig()
    backend: str = "auto"
    """How attention is computed; auto takes the fastest that fits."""

    @field_validator("attention", mode="before")
    @classmethod
    def _of_kind(cls, value: object) -> object:
        return attention_config(value) if isinstance(value, dict) else value

    @field_validator("backend")
    @classmethod
    def _known(cls, name: str) -> str:
        if name == "auto":
            return name
        from fenster.model.attention.backends import BACKENDS  # imports torch

        return BACKENDS.known(name)

    @model_validator(mode="after")
    def _fits(self) -> ModelConfig:
        if self.d_model % (2 * self.heads):
            raise ValueError(f"d_model {self.d_model} must be divisible by twice the heads, {2 * self.heads}")
        if self.positions == "relative" and not VARIANTS[self.attention.kind].relative_positions:
            raise ValueError(f"relative positions are not defined for {self.attention.kind} attention")
        return self

    @property
    def variant(self) -> AnyVariant:
        return make_variant(self.attention)

    @property
    def max_distance(self) -> int | None:
        """The largest distance with a relative vector of its own; None without relative positions."""
        return None if self.positions == "sinusoidal" else self.variant.max_distance


def attention_config(value: dict[str, Any]) -> AttentionConfig:
    """The settings of the variant that `kind` names, checked."""
    kind = VARIANTS.known(str(value.get("kind", "full")))
    return VARIANTS[kind].Config.model_validate(value)


PRESETS: Registry[dict[str, Any]] = Registry(
    "preset",
    {
        "tiny": {"encoder_layers": 2, "decoder_layers": 2, "d_model": 64, "ffn": 256, "heads": 4},
        "small": {"encoder_layers": 4, "decoder_layers": 4, "d_model": 256, "ffn": 1024, "heads": 4},
        "base": {},
    },
)


def preset(name: str, **changes: Any) -> ModelConfig:
    """A preset with some keys changed."""
    return check({**PRESETS[name], **changes}, ModelConfig)
