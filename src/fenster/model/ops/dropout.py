"""Dropout that is also fast on a CPU, where PyTorch draws one random number per element in one thread."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_STEPS = 1 << 16


class Dropout(nn.Module):
    """nn.Dropout; on a CPU each 64-bit draw serves four elements, and `p` is rounded to a multiple of 2^-16."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu" or torch.compiler.is_compiling():
            return F.dropout(x, self.p)
        dropped = max(1, round(self.p * _STEPS))
        words = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(1 << 63), None)
        draws = words.view(torch.int16)[: x.numel()].view(x.shape)
        mask = (draws >= dropped - _STEPS // 2).to(x.dtype).mul_(_STEPS / (_STEPS - dropped))
        return x * mask
