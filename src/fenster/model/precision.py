"""In which precision sums are made: never below float32, and no lower than the data's own."""

from __future__ import annotations

import torch
from torch import Tensor


def widened(x: Tensor) -> Tensor:
    """`x` in float32, or as it is if it is wider (tests run in float64)."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
