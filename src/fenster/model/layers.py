"""Encoder and decoder layers: attention, feed-forward, residuals and norms. No variant is known here."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from fenster.model.attention.cache import CacheView, CrossAttentionCache, SelfAttentionCache
from fenster.model.attention.probe import ProbePoint
from fenster.model.attention.variants import AnyVariant, LayerMasks
from fenster.model.config import ModelConfig
from fenster.model.init import init_weights
from fenster.model.multihead import CrossAttention, SelfAttention
from fenster.model.ops import fused
from fenster.model.ops.dropout import Dropout


class Residual(nn.Module):
    """x + dropout(sub-layer(x)), with the norm before (pre) or after (post)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model)
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
        up, down = nn.Linear(config.d_model, config.ffn), nn.Linear(config.ffn, config.d_model)
        self.dropout = Dropout(config.activation_dropout)
        for linear in (up, down):
            init_weights(linear, config.d_model)
        self.up, self.down = up, down

    def forward(self, x: Tensor) -> Tensor:
        ours = fused.available(x)
        seed = fused.seed(x, self._dropped) if ours else None  # drawn here, so that it is the same again
        if self.checkpointing and torch.is_grad_enabled():
            y = checkpoint(self._inside, x, seed, use_reentrant=False, preserve_rng_state=not ours)
        else:
            y = self._inside(x, seed)
        out: Tensor = self.down(y)
        return out

    def _inside(self, x: Tensor, seed: Tensor | None) -> Tensor:
        y = self.up(x)
        if not fused.available(x):
            dropped: Tensor = self.dropout(F.relu(y))
            return dropped
        return fused.relu_dropout(y, seed, self._dropped)

    @property
    def _dropped(self) -> float:
        return self.dropout.p if self.training else 0.0


class EncoderLayer(nn.Module):
    def __init__(self, config: ModelConfig, variant: AnyVariant) -> None:
        super().__init__()
        self.attention = SelfAttention(
            config.d_model, config.heads, variant.branches, config.max_distance, config.backend
        )
        self.ffn = FeedForward(config)
        self.around_attention, self.around_ffn = Residual(config), Residual(config)

    def forward(self, x: Tensor, masks: LayerMasks, probe_point: ProbePoint | None) -> Tensor:
        x = self.around_attention(
            x, lambda y: self.attention(y, masks.encoder, probe_point and probe_point.at("self"))
        )
        out: Tensor = self.around_ffn(x, self.ffn)
        return out


class DecoderLayer(nn.Module):
    def __init__(self, config: ModelConfig, variant: AnyVariant) -> None:
        super().__init__()
        self.attention = SelfAttention(
            config.d_model, config.heads, variant.branches, config.max_distance, config.backend
        )
        self.cross = CrossAttention(config.d_model, config.heads, config.backend)
        self.ffn = FeedForward(config)
        self.around_attention, self.around_cross, self.around_ffn = (Residual(config) for _ in range(3))

    def forward(self, x: Tensor, memory: Tensor, masks: LayerMasks, probe_point: ProbePoint | None) -> Tensor:
        x = self.around_attention(
            x, lambda y: self.attention(y, masks.decoder, probe_point and probe_point.at("self"))
        )
        x = self.around_cross(
            x, lambda y: self.cross(y, memory, masks.cross, probe_point and probe_point.at("cross"))
        )
        out: Tensor = self.around_ffn(x, self.ffn)
        return out

    def prefill(self, x: Tensor, source_kv: Tensor, masks: LayerMasks) -> tuple[Tensor, Tensor]:
        """`forward` with the projected source [S, 2, H, D], and keys and values of self-attention [T, 2, H, D]."""
        kept = x

        def attend(y: Tensor) -> Tensor:
            nonlocal kept
            out, kept = self.attention.prefill(y, masks.decoder)
            return out

        x = self.around_attention(x, attend)
        x = self.around_cross(x, lambda y: self.cross.attend_source(y, source_kv, masks.cross))
        return self.around_ffn(x, self.ffn), kept

    def step(
        self,
        x: Tensor,
        number: int,
        own: tuple[SelfAttentionCache, CacheView],
        source: tuple[CrossAttentionCache, CacheView],
    ) -> Tensor:
        """One token for each hypothesis [N, d_model]; what this layer (`number` of the decoder) keeps goes to
        `own`."""
        x = self.around_attention(x, lambda y: self.attention.step(y, number, *own))
        x = self.around_cross(x, lambda y: self.cross.step(y, number, *source))
        out: Tensor = self.around_ffn(x, self.ffn)
        return out
