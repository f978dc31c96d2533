"""The one place that uses private parts of PyTorch.

The upper bound on torch's version and a test that names them guard against a change.
"""

from __future__ import annotations

from collections.abc import Sequence

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


def reset_compiler() -> None:
    """Forget what torch.compile has compiled."""
    torch._dynamo.reset()
