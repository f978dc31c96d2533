"""Weights as files in 8 bits: a quarter of the size, for models that are shipped.

Each row of a matrix has whole numbers from -127 to 127 and a scale of its own; vectors (norms, biases) and the small
tables of relative positions stay as they are. Loading gives ordinary float32 weights again, for any device.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

SCALE = ".scale"
"""What the scales of a matrix are called, after its own name."""


def quantize_state(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Matrices as int8 with their scales under `<name>.scale`."""
    stored = {}
    for name, tensor in weights.items():
        if tensor.dim() != 2:
            stored[name] = tensor
            continue
        scale = tensor.float().abs().amax(1, keepdim=True) / 127
        scale[scale == 0] = 1
        stored[name] = (tensor.float() / scale).round().to(torch.int8)
        stored[name + SCALE] = scale
    return stored


def dequantize_state(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Float weights of what `quantize_state` made, or of ordinary weights."""
    return {
        name: tensor.float() * tensors[name + SCALE] if name + SCALE in tensors else tensor.float()
        for name, tensor in tensors.items()
        if not name.endswith(SCALE)
    }
