"""Triton kernels around attention: dropout, residual and layer norm in one pass, ReLU and dropout in one pass.

Random numbers are a hash of (seed, element), computed where they are needed and again in the backward pass: no mask
is ever stored. Each program of the norm's backward keeps a share of the weights' gradients; there are no atomics.
"""
# Kernel arguments follow the habit of such code: capitals for pointers and compile-time constants.
# ruff: noqa: N803
# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _kept(low, high, index, threshold):
    """Which elements survive dropout: a 32-bit mixing hash ("lowbias32", the seed added twice) above a threshold."""
    x = (index * -1640531527 + low).to(tl.uint32, bitcast=True)
    x ^= x >> 16
    x *= 0x7FEB352D
    x ^= high.to(tl.uint32, bitcast=True)
    x ^= x >> 15
    x *= 0x846CA68B
    x ^= x >> 16
    return (x >> 1).to(tl.int32) >= threshold


@triton.jit
def norm_forward(
    X, H, WEIGHT, BIAS, SEED, Y, Z, MEAN, RSTD, rows, threshold, scale, epsilon,
    D: tl.constexpr, BD: tl.constexpr, BR: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    """Y = norm(Z), Z = X + dropout(H), all [rows, D]; also each row's mean and 1 / deviation."""
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    column = tl.arange(0, BD)
    mask = (row < rows)[:, None] & (column < D)[None, :]
    offset = row.to(tl.int64)[:, None] * D + column[None, :]
    h = tl.load(H + offset, mask, 0.0).to(tl.float32)
    if DROP:
        keep = _kept(tl.load(SEED), tl.load(SEED + 1), offset.to(tl.int32), threshold)
        # Rounded as a separate dropout would round it.
        h = tl.where(keep, h * scale, 0.0).to(Z.dtype.element_ty).to(tl.float32)
    z = (tl.load(X + offset, mask, 0.0).to(tl.float32) + h).to(Z.dtype.element_ty)
    tl.store(Z + offset, z, mask)
    z = z.to(tl.float32)
    mean = tl.sum(z, 1) / D
    away = tl.where(mask, z - mean[:, None], 0.0)
    rstd = tl.rsqrt(tl.sum(away * away, 1) / D + epsilon)
    tl.store(MEAN + row, mean, row < rows)
    tl.store(RSTD + row, rstd, row < rows)
    weight = tl.load(WEIGHT + column, column < D, 0.0).to(tl.float32)
    bias = tl.load(BIAS + column, column < D, 0.0).to(tl.float32)
    y = away * rstd[:, None] * weight[None, :] + bias[None, :]
    tl.store(Y + offset, y.to(Y.dtype.element_ty), mask)


@triton.jit
def norm_backward(
    DY, Z, WEIGHT, SEED, MEAN, RSTD, DX, DH, DWEIGHT, DBIAS, rows, blocks, programs, threshold, scale,
    D: tl.constexpr, BD: tl.constexpr, BR: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    """Gradients of X and H, and this program's share of the weight's and bias', [programs, D]."""
    column = tl.arange(0, BD)
    inside = column < D
    weight = tl.load(WEIGHT + column, inside, 0.0).to(tl.float32)
    dweight = tl.zeros([BD], tl.float32)
    dbias = tl.zeros([BD], tl.float32)
    for block in range(tl.program_id(0), blocks, programs):
        row = block * BR + tl.arange(0, BR)
        mask = (row < rows)[:, None] & inside[None, :]
        offset = row.to(tl.int64)[:, None] * D + column[None, :]
        dy = tl.load(DY + offset, mask, 0.0).to(tl.float32)
        z = tl.load(Z + offset, mask, 0.0).to(tl.float32)
        mean, rstd = tl.load(MEAN + row, row < rows, 0.0), tl.load(RSTD + row, row < rows, 0.0)
        normed = tl.where(mask, (z - mean[:, None]) * rstd[:, None], 0.0)
        dweight += tl.sum(dy * normed, 0)
        dbias += tl.sum(dy, 0)
        pulled = dy * weight[None, :]
        along = tl.sum(pulled * normed, 1) / D
        level = tl.sum(pulled, 1) / D
        dz = (pulled - normed * along[:, None] - level[:, None]) * rstd[:, None]
        tl.store(DX + offset, dz.to(DX.dtype.element_ty), mask)
        if DROP:
            keep = _kept(tl.load(SEED), tl.load(SEED + 1), offset.to(tl.int32), threshold)
            dz = tl.where(keep, dz * scale, 0.0)
        tl.store(DH + offset, dz.to(DH.dtype.element_ty), mask)
    tl.store(DWEIGHT + tl.program_id(0) * D + column, dweight, inside)
    tl.store(DBIAS + tl.program_id(0) * D + column, dbias, inside)


@triton.jit
def relu_forward(X, SEED, Y, size, threshold, scale, BLOCK: tl.constexpr, DROP: tl.constexpr):
    """Y = dropout(relu(X)), element by element."""
    offset = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offset < size
    x = tl.load(X + offset, mask, 0.0)
    y = tl.where(x > 0, x, 0.0).to(tl.float32)
    if DROP:
        keep = _kept(tl.load(SEED), tl.load(SEED + 1), offset.to(tl.int32), threshold)
        y = tl.where(keep, y * scale, 0.0)
    tl.store(Y + offset, y.to(Y.dtype.element_ty), mask)


@triton.jit
def relu_backward(DY, Y, DX, size, scale, BLOCK: tl.constexpr):
    """Where Y is zero, ReLU or dropout stopped the gradient; both at once, and no mask to keep."""
    offset = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offset < size
    dy = tl.load(DY + offset, mask, 0.0).to(tl.float32)
    passed = tl.load(Y + offset, mask, 0.0) != 0
    tl.store(DX + offset, tl.where(passed, dy * scale, 0.0).to(DX.dtype.element_ty), mask)
