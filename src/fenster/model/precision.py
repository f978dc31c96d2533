"""In which precision things are computed."""

from __future__ import annotations

import torch
from torch import Tensor


def widened(x: Tensor) -> Tensor:
    """`x` in float32, or as it is if it is wider (tests run in float64): sums are never made in less."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def narrowed(x: Tensor) -> Tensor:
    """`x` in autocast's precision where autocast is on: what layers hand to each other.

    Autocast itself would keep the residual stream in float32 and move twice the bytes; every norm still computes in
    float32.
    """
    kind = x.device.type
    return x.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else x
