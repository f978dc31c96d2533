"""Weights as files in 8 bits: a quarter of the size, for models that are shipped.

Each row of a matrix has whole numbers from -127 to 127 and a scale of its own; vectors (norms, biases) and the small
tables of relative positions stay as they are. Loading gives ordinary float32 weights again, for any device.
"""

from __future__ import annotations

import torch
from torch import Tensor

_SCALE = ".scale"


def quantize_state(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Matrices as int8 with their scales under `<name>.scale`."""
    stored = {}
    for name, tensor in weights.items():
        if tensor.dim() != 2:
            stored[name] = tensor
            continue
        scale = tensor.float().abs().amax(1, keepdim=True) / 127
        scale[scale == 0] = 1
        stored[name] = (tensor.float() / scale).round().to(torch.int8)
        stored[name + _SCALE] = scale
    return stored


def dequantize_state(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Float weights of what `quantize_state` made; ordinary weights come through as they are."""
    return {
        name: tensor.float() * tensors[name + _SCALE] if name + _SCALE in tensors else tensor
        for name, tensor in tensors.items()
        if not name.endswith(_SCALE)
    }
