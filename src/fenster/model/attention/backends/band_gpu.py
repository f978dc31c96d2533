"""Self-attention with small windows in half precision: the torch side of `kernels.band`.

`window_gpu` hands over what fits; it computes wider windows, float32 and cross-attention itself.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import torch
import triton
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from fenster.model.attention.kernels import band as kernels
from fenster.model.ops.device import shared_memory, units

_PERIOD = kernels.PERIOD.value  # of the waves that stand for relative vectors
_QUERIES, _KEYS = 64, 128  # of a tile of the forward pass


class _BackwardTiles(NamedTuple):
    """Tiles of the backward pass, and the programs that walk along them."""

    queries: int
    keys: int
    warps: int
    programs: int  # per multiprocessor
    stages: int


_BACKWARD_TILES = _BackwardTiles(_QUERIES, 64, 4, 2, 2)  # 128 queries and 8 warps take a third longer
_ROOM = 116 << 10  # bytes of shared memory that suffice


def fits(q: Tensor, window: int, after: int, relative: bool) -> bool:
    """True if self-attention of `q` [T, H, D] to `window` keys before and `after` behind can be computed here."""
    small = window + after <= min(_KEYS - _QUERIES, _BACKWARD_TILES.keys) and (
        not relative or 2 * window + 1 <= _PERIOD
    )
    usual = q.dtype != torch.float32 and q.shape[-1] <= 64 and q.shape[0] > 0  # len would fix a compiled length
    return after >= 0 and small and usual and _able(q.device)


def kept_shapes(q: Tensor, table: Tensor | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of what the forward pass keeps of the relative term for the backward pass: queries' amplitudes at their places
    [T, H, 64], and the table's [64, H, D]."""
    tokens, heads, size = q.shape
    return ((0,), (0,)) if table is None else ((tokens, heads, 64), (64, heads, size))


def forward(
    q: Tensor, k: Tensor, v: Tensor, table: Tensor | None, first: Tensor, last: Tensor, window: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(context [T, H, D], log2 of the softmax mass [H, T], what is kept); `table` [2 * window + 1, H, D]."""
    tokens, heads, size = q.shape
    q, k, v = _readable(q), _readable(k), _readable(v)
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    lse = torch.empty((heads, tokens), dtype=torch.float32, device=q.device)
    rotated_q, fourier_coeffs = (
        torch.empty(shape, dtype=q.dtype, device=q.device) for shape in kept_shapes(q, table)
    )
    if table is not None:
        kernels.fourier_coeffs[(heads,)](
            table.contiguous(),
            _transform(window, q.device),
            fourier_coeffs,
            len(table),
            heads,
            D=size,
            RP=_padded(table),
        )
    blocks = triton.cdiv(tokens, _QUERIES)
    count = min(blocks, programs(q.device, heads, 4))
    kernels.forward[(count, heads)](
        _rows(q, _QUERIES), _rows(k, _KEYS), _rows(v, _KEYS), *_terms(q, fourier_coeffs, _KEYS), first, last,
        out, lse, rotated_q, tokens, size**-0.5, heads, blocks, count,
        D=size, W=window, BM=_QUERIES, BN=_KEYS, RELATIVE=table is not None, num_warps=4, num_stages=1, maxnreg=128,
    )  # fmt: skip
    return out, lse, rotated_q, fourier_coeffs


def backward(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    table: Tensor | None,
    first: Tensor,
    last: Tensor,
    out: Tensor,
    lse: Tensor,
    rotated_q: Tensor,
    fourier_coeffs: Tensor,
    window: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(dq, dk, dv, dtable); dtable is empty without a table."""
    tokens, heads, size = q.shape
    q, k, v, dout = _readable(q), _readable(k), _readable(v), _readable(dout)
    dq, dk, dv = (torch.empty_like(x, memory_format=torch.contiguous_format) for x in (q, k, v))
    blocks = triton.cdiv(tokens, _BACKWARD_TILES.queries)
    per_program = triton.cdiv(blocks, programs(q.device, heads, _BACKWARD_TILES.programs))
    count = triton.cdiv(blocks, per_program)
    shares = torch.empty((count if table is not None else 0, 64, heads, size), dtype=torch.float32, device=q.device)
    by_query, by_key = (
        functools.partial(_rows, rows=rows) for rows in (_BACKWARD_TILES.queries, _BACKWARD_TILES.keys)
    )
    kernels.backward[(count, heads)](
        by_query(q), by_key(k), by_key(v), *_terms(q, fourier_coeffs, _BACKWARD_TILES.keys),
        None if table is None else by_query(rotated_q),
        by_query(out), by_query(dout), first, last, lse,
        dq, dk, dv, shares, tokens, size**-0.5, heads, blocks, per_program,
        D=size, W=window, BM=_BACKWARD_TILES.queries, BN=_BACKWARD_TILES.keys, RELATIVE=table is not None,
        STAGES=_BACKWARD_TILES.stages, num_warps=_BACKWARD_TILES.warps,
    )  # fmt: skip
    if table is None:
        return dq, dk, dv, shares.flatten()
    dtable = torch.empty(table.shape, dtype=table.dtype, device=q.device)
    kernels.vectors[(heads, size // 16)](
        shares, _transform(window, q.device), dtable, count, len(table), heads,
        D=size, RP=_padded(table), SOME=8, COLUMNS=16,
    )  # fmt: skip
    return dq, dk, dv, dtable


@functools.cache
def _able(device: torch.device) -> bool:
    """True if a GPU has descriptors in hardware (Hopper and later) and the room; the interpreter has both."""
    hopper = device.type != "cuda" or torch.cuda.get_device_capability(device) >= (9, 0)
    return hopper and shared_memory(device) >= _ROOM


def programs(device: torch.device, heads: int, per_unit: int) -> int:
    """Programs per head, so that every multiprocessor has `per_unit` of them."""
    return max(1, per_unit * units(device) // heads)


def _readable(x: Tensor) -> Tensor:
    """`x` with heads side by side, at an address that descriptors can take (a multiple of 16 bytes)."""
    _, heads, size = x.shape
    aligned = x.data_ptr() % 16 == 0 and x.stride(0) * x.element_size() % 16 == 0
    if aligned and x.stride(0) >= heads * size and x.stride()[1:] == (size, 1):
        return x
    return x.clone(memory_format=torch.contiguous_format)


def _rows(x: Tensor, rows: int) -> TensorDescriptor:
    """`x` [T, H, D] to be read `rows` of one head at a time; zeros outside."""
    tokens, heads, size = x.shape
    return TensorDescriptor(x, [tokens, heads * size], [x.stride(0), 1], [rows, size])


def _terms(
    q: Tensor, fourier_coeffs: Tensor, rows: int
) -> tuple[TensorDescriptor | None, TensorDescriptor | None, Tensor | None]:
    """What kernels take of the relative term: amplitudes, and waves, `rows` places at a time and at any."""
    if not len(fourier_coeffs):
        return None, None, None
    return _rows(fourier_coeffs, 64), _basis(q.device, q.dtype, rows), _phases(q.device, q.dtype)


def _padded(table: Tensor) -> int:
    """Distances, rounded up as products of tiles require."""
    return 1 << max(4, (len(table) - 1).bit_length())


@functools.cache
def _phases(device: torch.device, dtype: torch.dtype) -> Tensor:
    """[places, 64]: cosines and sines of the waves at each place that a tile may have, side by side."""
    position = torch.arange(_PERIOD + max(_KEYS, _BACKWARD_TILES.queries + _BACKWARD_TILES.keys), dtype=torch.float64)
    wave = torch.arange(32, dtype=torch.float64)
    angle = position[:, None] * wave * (2 * math.pi / _PERIOD)
    return torch.stack([angle.cos(), angle.sin()], -1).flatten(1).to(device, dtype)


@functools.cache
def _basis(device: torch.device, dtype: torch.dtype, rows: int) -> TensorDescriptor:
    """The same to be read `rows` places at a time."""
    phases = _phases(device, dtype)
    return TensorDescriptor(phases, list(phases.shape), [64, 1], [rows, 64])


@functools.cache
def _transform(window: int, device: torch.device) -> Tensor:
    """[64, 2 * window + 1]: vectors by distance to the amplitudes of their waves, which repeat after the period."""
    distance, wave = torch.arange(-window, window + 1, dtype=torch.float64), torch.arange(32, dtype=torch.float64)
    angle = wave[:, None] * distance * (2 * math.pi / _PERIOD)
    weight = torch.where(wave == 0, 1.0, 2.0)[:, None] / _PERIOD
    return torch.stack([weight * angle.cos(), weight * angle.sin()], 1).flatten(0, 1).to(device, torch.float32)
