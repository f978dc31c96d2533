"""Weights as files in 8 bits: a quarter of the size, for models that are shipped.

Each row of a matrix has whole numbers from -127 to 127 and a scale of its own; vectors (norms, biases) and the small
tables of relative positions stay as they are. PyTorch makes ordinary float32 weights of them again, for any device;
the compiled library multiplies with them as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from torch import Tensor

SCALE = ".scale"
"""What the scales of a matrix are called, after its own name."""


def quantize_rows(weight: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """A matrix [out, in] as whole numbers, and the scale of each row [out]."""
    scale = np.abs(weight).max(1, initial=0) / np.float32(127)
    scale[scale == 0] = 1
    return np.round(weight / scale[:, None]).astype(np.int8), scale


def quantize_state(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Matrices as int8 with their scales [out, 1] under `<name>.scale`."""
    import torch

    stored = {}
    for name, tensor in weights.items():
        if tensor.dim() != 2:
            stored[name] = tensor
            continue
        whole, scale = map(torch.from_numpy, quantize_rows(tensor.detach().float().cpu().numpy()))
        stored[name], stored[name + SCALE] = whole, scale[:, None]
    return stored


def dequantize_state(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Float weights of what `quantize_state` made, or of ordinary weights."""
    return {
        name: tensor.float() * tensors[name + SCALE] if name + SCALE in tensors else tensor.float()
        for name, tensor in tensors.items()
        if not name.endswith(SCALE)
    }
