"""The element-wise parts of a layer in one pass each, on a GPU: the torch side of `fused_kernels`.

    residual_norm(x, h, …) = layer_norm(x + dropout(h))        relu_dropout(x, …) = dropout(relu(x))

Operators for eager and compiled code alike, as attention's; without a GPU (or Triton) layers use PyTorch's own
functions instead. Memory for the backward pass: x + dropout(h) and two numbers per row; no masks.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fenster.model.ops.custom_op import CustomOp, Run
from fenster.model.ops.device import require_triton, units

try:
    require_triton()
    import triton

    from fenster.model.ops import fused_kernels as kernels
except ImportError:  # no GPU, or a torch build without Triton
    triton = None

_WIDEST = 4096  # columns that a program can hold
_BLOCK = 4096  # elements of a program without rows


def available(x: Tensor) -> bool:
    """True if the kernels can and should run on `x` [rows, D]; in the interpreter only tests ask for them."""
    return triton is not None and x.is_cuda and x.dtype != torch.float64 and x.shape[-1] <= _WIDEST


def residual_norm(x: Tensor, h: Tensor, weight: Tensor, bias: Tensor, p: float, epsilon: float) -> Tensor:
    """layer_norm(x + dropout(h, p)) in x's precision; sums in float32."""
    y: Tensor = _norm(x.contiguous(), h.contiguous(), weight, bias, seed(x, p), p, epsilon)[0]
    return y


def relu_dropout(x: Tensor, seed: Tensor | None, p: float) -> Tensor:
    """dropout(relu(x), p), where what is dropped follows from `seed`."""
    y: Tensor = _relu(x.contiguous(), seed, p)
    return y


def seed(x: Tensor, p: float) -> Tensor | None:
    """Two 32-bit numbers from the device's generator, so that torch.manual_seed and CUDA graphs rule here too; None
    where nothing is dropped."""
    return None if p == 0 else torch.randint(-(1 << 31), 1 << 31, (2,), device=x.device, dtype=torch.int32)


def _dropping(p: float) -> dict[str, Any]:
    return {"threshold": round(p * (1 << 31)), "scale": 1 / (1 - p)}


def _rows(size: int) -> tuple[int, int, int]:
    """(columns rounded up, rows of a program, warps): what was fastest for 512 columns on an H200."""
    columns = triton.next_power_of_2(size)
    return columns, max(1, 1024 // columns), max(2, columns // 512)


def _norm_forward(
    x: Tensor, h: Tensor, weight: Tensor, bias: Tensor, seed: Tensor | None, p: float, epsilon: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(normed, x + dropout(h), mean, 1 / deviation)."""
    rows, size = x.shape
    y, z = torch.empty_like(x), torch.empty_like(x)
    mean, rstd = (x.new_empty(rows, dtype=torch.float32) for _ in range(2))
    columns, block, warps = _rows(size)
    if rows:
        kernels.norm_forward[(triton.cdiv(rows, block),)](
            x, h, weight, bias, seed, y, z, mean, rstd, rows, epsilon=epsilon, **_dropping(p),
            D=size, BD=columns, BR=block, DROP=p > 0, num_warps=warps,
        )  # fmt: skip
    return y, z, mean, rstd


def _norm_shapes(x: Tensor, *_: object) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    number = x.new_empty(x.shape[0], dtype=torch.float32)
    return torch.empty_like(x), torch.empty_like(x), number, torch.empty_like(number)


def _norm_backward(
    dy: Tensor, z: Tensor, weight: Tensor, seed: Tensor | None, mean: Tensor, rstd: Tensor, p: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(dx, dh, dweight, dbias)."""
    rows, size = z.shape
    dx, dh = torch.empty_like(z), torch.empty_like(z)
    columns, block, warps = _rows(size)
    blocks = triton.cdiv(rows, block)
    programs = max(1, min(blocks, 8 * units(z.device)))  # enough to fill the device: each keeps a share of the sums
    shares = z.new_empty((2, programs, size), dtype=torch.float32)
    kernels.norm_backward[(programs,)](
        dy.contiguous(), z, weight, seed, mean, rstd, dx, dh, shares[0], shares[1], rows, blocks, programs,
        **_dropping(p), D=size, BD=columns, BR=block, DROP=p > 0, num_warps=warps,
    )  # fmt: skip
    dweight, dbias = shares.sum(1).to(weight.dtype).unbind()
    return dx, dh, dweight.clone(), dbias.clone()


def _norm_backward_shapes(dy: Tensor, z: Tensor, weight: Tensor, *_: object) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return torch.empty_like(z), torch.empty_like(z), torch.empty_like(weight), torch.empty_like(weight)


def _norm_save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    _, _, weight, _, seed, ctx.p, _ = inputs
    _, z, mean, rstd = output
    ctx.save_for_backward(z, weight, seed, mean, rstd)
    ctx.mark_non_differentiable(z, mean, rstd)


def _norm_differentiate(ctx: Any, backward: Run, dy: Tensor, *_: Tensor | None) -> tuple[Tensor | None, ...]:
    z, weight, seed, mean, rstd = ctx.saved_tensors
    return *backward(dy, z, weight, seed, mean, rstd, ctx.p), None, None, None


_norm = CustomOp(
    "residual_norm",
    _norm_forward,
    _norm_backward,
    shapes=(_norm_shapes, _norm_backward_shapes),
    save=_norm_save,
    differentiate=_norm_differentiate,
)


def _relu_forward(x: Tensor, seed: Tensor | None, p: float) -> Tensor:
    y = torch.empty_like(x)
    kernels.relu_forward[(triton.cdiv(x.numel(), _BLOCK),)](
        x, seed, y, x.numel(), **_dropping(p), BLOCK=_BLOCK, DROP=p > 0, num_warps=8
    )
    return y


def _relu_shapes(x: Tensor, *_: object) -> Tensor:
    return torch.empty_like(x)


def _relu_backward(dy: Tensor, y: Tensor, p: float) -> Tensor:
    dx = torch.empty_like(y)
    kernels.relu_backward[(triton.cdiv(y.numel(), _BLOCK),)](
        dy.contiguous(), y, dx, y.numel(), 1 / (1 - p), BLOCK=_BLOCK, num_warps=8
    )
    return dx


def _relu_backward_shapes(dy: Tensor, y: Tensor, p: float) -> Tensor:
    return torch.empty_like(y)


def _relu_save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.p = inputs[2]
    ctx.save_for_backward(output)


def _relu_differentiate(ctx: Any, backward: Run, dy: Tensor) -> tuple[Tensor | None, ...]:
    (y,) = ctx.saved_tensors
    return backward(dy, y, ctx.p), None, None


_relu = CustomOp(
    "relu_dropout",
    _relu_forward,
    _relu_backward,
    shapes=(_relu_shapes, _relu_backward_shapes),
    save=_relu_save,
    differentiate=_relu_differentiate,
)
