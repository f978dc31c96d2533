"""Linear layers of a few rows on a CPU, which is what a search of one document computes.

Its time is that of reading weights. With the weights on the left, MKL reads them two to five times as fast for two to
eight rows (measured on AVX-512); for one row, or more, the usual way is as good.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_FEW = range(2, 9)


def apply_linear(layer: nn.Module, x: Tensor) -> Tensor:
    """`layer` of x [rows, d_model]; other layers than plain ones (8-bit weights) go their own way."""
    if isinstance(layer, nn.Linear) and _few(x):
        return linear(x, layer.weight, layer.bias)
    out: Tensor = layer(x)
    return out


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [rows, d_model] · weight [out, d_model] transposed, and the bias."""
    if not _few(x):
        return F.linear(x, weight, bias)
    turned = weight @ x.t() if bias is None else torch.addmm(bias[:, None], weight, x.t())
    return turned.t().contiguous()


def _few(x: Tensor) -> bool:
    return not torch.is_grad_enabled() and x.device.type == "cpu" and x.dim() == 2 and len(x) in _FEW
