"""Weights in 8 bits for translation on a CPU: several times faster matrix products, a quarter of the memory."""

from __future__ import annotations

import copy
import warnings

import torch
from torch import Tensor, nn

from fenster.errors import FensterError, nan_error
from fenster.model.layers import FeedForward
from fenster.model.transformer import Transformer

_SMALLEST = 1e-20


class Rows(nn.Module):
    """A map with int8 weights that quantises its inputs as they come, each row by its own largest number.

    PyTorch's way takes one range for all rows, so that a translation would depend on what is translated beside it.
    Here rows are brought to [-1, 1], and one more row makes that the range whatever the others hold.
    """

    def __init__(self, layer: nn.Linear, lowest: int = -1) -> None:
        """`lowest` 0 tells that inputs are never negative: then all steps lie where they are."""
        super().__init__()
        weight = layer.weight.detach().float()
        scale = weight.abs().amax(1) / 127
        scale[scale == 0] = 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that such tensors will move to another package
            zero = torch.zeros(len(scale), dtype=torch.int64)
            whole = torch.quantize_per_channel(weight, scale, zero, 0, torch.qint8)
            self.weight = torch.ops.quantized.linear_prepack(whole, None)
        self.bias = torch.zeros(len(scale)) if layer.bias is None else layer.bias.detach().float()
        self.ends = torch.zeros(1, weight.shape[1])
        self.ends[0, 0], self.ends[0, -1] = 1, lowest
        self.lowest = lowest

    def forward(self, x: Tensor) -> Tensor:
        rows = x.reshape(-1, x.shape[-1])
        size = rows.abs() if self.lowest else rows  # a norm would take ten times as long
        most = size.amax(1, keepdim=True).clamp_(min=_SMALLEST)
        try:
            # Seven bits of inputs: products of eight would overflow on processors without VNNI.
            out = torch.ops.quantized.linear_dynamic(torch.cat([rows / most, self.ends]), self.weight, True)
        except RuntimeError:
            if bool(rows.isfinite().all()):
                raise
            raise nan_error() from None  # it found no range
        return torch.addcmul(self.bias, out[:-1], most).view(*x.shape[:-1], -1)


def quantized(model: Transformer) -> Transformer:
    """A copy whose maps have int8 weights, a scale for each row, and quantise their inputs as they come.

    Embeddings, norms and attention itself stay float32. For decoding only: no gradients, no GPU.
    """
    if model.embedding.weight.device.type != "cpu":
        raise FensterError("int8 weights are for a CPU", fix="take device: cpu, or leave int8 out")
    small = copy.deepcopy(model).float().eval()
    for module in list(small.modules()):
        for name, layer in list(module.named_children()):
            if isinstance(layer, nn.Linear):
                after_relu = isinstance(module, FeedForward) and layer is module.down
                setattr(module, name, Rows(layer, lowest=0 if after_relu else -1))
    weight = small.embedding.weight
    output = nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    output.weight = weight
    small.projection = Rows(output)
    return small
