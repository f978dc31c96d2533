"""Absolute sinusoidal positions, computed for any place, so that no document is too long."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def sinusoids(position: Tensor, d_model: int) -> Tensor:
    """[tokens] places -> [tokens, width] float32: sines in the first half, cosines in the second."""
    half = d_model // 2
    rate = torch.exp(torch.arange(half, device=position.device) * (-math.log(10_000) / max(half - 1, 1)))
    angle = position[:, None].float() * rate
    return torch.cat([angle.sin(), angle.cos()], -1)
