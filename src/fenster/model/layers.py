"""Encoder and decoder layers: attention, feed-forward, residuals and norms. No variant is known here."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from fenster.model import fused
from fenster.model.attention import Patterns, Variant
from fenster.model.config import ModelConfig
from fenster.model.dropout import Dropout
from fenster.model.heads import CrossHeads, SelfHeads
from fenster.model.initial import start
from fenster.model.probe import Spot
from fenster.model.product import mapped
from fenster.model.state import CrossState, SelfState, Sight


class Residual(nn.Module):
    """x + dropout(sub-layer(x)), with the norm before (pre) or after (post)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.width)
        self.dropout = Dropout(config.dropout)
        self.pre = config.norm == "pre"

    def forward(self, x: Tensor, inside: Callable[[Tensor], Tensor]) -> Tensor:
        if not self.pre and fused.available(x):
            p = self.dropout.p if self.training else 0.0
            return fused.residual_norm(x, inside(x), self.norm.weight, self.norm.bias, p, self.norm.eps)
        if self.pre:
            out: Tensor = x + self.dropout(inside(self.norm(x)))
        else:
            out = self.norm(x + self.dropout(inside(x))).to(x.dtype)  # autocast norms give float32
        return out


class FeedForward(nn.Module):
    """With `checkpointing` its inside, four times as wide as the model, is computed again in the backward pass."""

    checkpointing = False

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(config.width, config.ffn), nn.Linear(config.ffn, config.width)
        self.dropout = Dropout(config.activation_dropout)
        for linear in (self.up, self.down):
            start(linear, config.width)

    def forward(self, x: Tensor) -> Tensor:
        ours = fused.available(x)
        seed = fused.seed(x, self._dropped) if ours else None  # drawn here, so that it is the same again
        if self.checkpointing and torch.is_grad_enabled():
            y = checkpoint(self._inside, x, seed, use_reentrant=False, preserve_rng_state=not ours)
        else:
            y = self._inside(x, seed)
        return mapped(self.down, y)

    def _inside(self, x: Tensor, seed: Tensor | None) -> Tensor:
        y = mapped(self.up, x)
        if not fused.available(x):
            dropped: Tensor = self.dropout(F.relu(y))
            return dropped
        return fused.relu_dropout(y, seed, self._dropped)

    @property
    def _dropped(self) -> float:
        return self.dropout.p if self.training else 0.0


class EncoderLayer(nn.Module):
    def __init__(self, config: ModelConfig, variant: Variant) -> None:
        super().__init__()
        self.attention = SelfHeads(config.width, config.heads, variant.branches, config.reach, config.compute)
        self.ffn = FeedForward(config)
        self.around_attention, self.around_ffn = Residual(config), Residual(config)

    def forward(self, x: Tensor, patterns: Patterns, spot: Spot | None) -> Tensor:
        x = self.around_attention(x, lambda y: self.attention(y, patterns.encoder, spot and spot.at("self")))
        out: Tensor = self.around_ffn(x, self.ffn)
        return out


class DecoderLayer(nn.Module):
    def __init__(self, config: ModelConfig, variant: Variant) -> None:
        super().__init__()
        self.attention = SelfHeads(config.width, config.heads, variant.branches, config.reach, config.compute)
        self.cross = CrossHeads(config.width, config.heads, config.compute)
        self.ffn = FeedForward(config)
        self.around_attention, self.around_cross, self.around_ffn = (Residual(config) for _ in range(3))

    def forward(self, x: Tensor, memory: Tensor, patterns: Patterns, spot: Spot | None) -> Tensor:
        x = self.around_attention(x, lambda y: self.attention(y, patterns.decoder, spot and spot.at("self")))
        x = self.around_cross(x, lambda y: self.cross(y, memory, patterns.cross, spot and spot.at("cross")))
        out: Tensor = self.around_ffn(x, self.ffn)
        return out

    def fill(self, x: Tensor, memory: Tensor, patterns: Patterns) -> tuple[Tensor, Tensor]:
        """`forward`, and keys and values of self-attention [tokens, 2, H, D]."""
        kept = x

        def attend(y: Tensor) -> Tensor:
            nonlocal kept
            out, kept = self.attention.fill(y, patterns.decoder)
            return out

        x = self.around_attention(x, attend)
        x = self.around_cross(x, lambda y: self.cross(y, memory, patterns.cross))
        return self.around_ffn(x, self.ffn), kept

    def step(self, x: Tensor, number: int, own: tuple[SelfState, Sight], source: tuple[CrossState, Sight]) -> Tensor:
        """One token for each hypothesis [N, width]; what this layer (`number` of the decoder) keeps goes to `own`."""
        x = self.around_attention(x, lambda y: self.attention.step(y, number, *own))
        x = self.around_cross(x, lambda y: self.cross.step(y, number, *source))
        out: Tensor = self.around_ffn(x, self.ffn)
        return out
