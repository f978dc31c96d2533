"""The one place that uses private or deprecated parts of PyTorch.

The upper bound on torch's version and a test that names them guard against a change.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def lerp_all_(targets: Sequence[Tensor], sources: Sequence[Tensor], weight: float) -> None:
    """targets += weight * (sources - targets), in few kernels."""
    torch._foreach_lerp_(list(targets), list(sources), weight)


def scaled_step(optimizer: torch.optim.Optimizer, scale: Tensor, skip: Tensor) -> None:
    """A step of a fused optimizer with gradients divided by `scale`, and none at all if `skip` is 1: what GradScaler
    uses, so that no host waits to find out whether gradients are finite."""
    optimizer.grad_scale, optimizer.found_inf = scale, skip  # type: ignore[attr-defined]
    optimizer.step()


def int8_available() -> bool:
    """True if PyTorch still has the operations that `int8_pack` and `int8_linear` need; they are deprecated."""
    quantized = getattr(torch.ops, "quantized", None)
    return hasattr(torch, "quantize_per_channel") and all(
        hasattr(quantized, name) for name in ("linear_prepack", "linear_dynamic")
    )


def int8_pack(weight: Tensor, scale: Tensor) -> Any:
    """A matrix [out, in] as int8 with a scale for each row [out], in the form that `int8_linear` takes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that these operations are deprecated and will be removed
        zero = torch.zeros(len(scale), dtype=torch.int64)
        whole = torch.quantize_per_channel(weight, scale, zero, 0, torch.qint8)
        return torch.ops.quantized.linear_prepack(whole, None)


def int8_linear(x: Tensor, packed: Any) -> Tensor:
    """x [rows, in] times the packed matrix; inputs are quantised to 7 bits with one range for all of them (products
    of 8 bits would overflow on processors without VNNI)."""
    out: Tensor = torch.ops.quantized.linear_dynamic(x, packed, True)
    return out


def reset_compiler() -> None:
    """Forget what torch.compile has compiled."""
    torch._dynamo.reset()
