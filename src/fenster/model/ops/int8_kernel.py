"""Products with int8 matrices, computed by `fenster/native/int8.cpp`."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fenster.errors import nan_error
from fenster.io.native_library import library
from fenster.model.ops.native import call, thread_count

_NOT_FINITE = 1
_BLOCK, _DEEP = 16, 4  # rows and columns that native/int8.cpp packs together


@dataclass(frozen=True)
class PackedInt8:
    """A matrix [out, in] in the kernel's order."""

    weights: Tensor
    sums: Tensor
    """[out]"""
    scale: Tensor
    """[out], what the numbers of each row are multiplied with."""
    depth: int

    def rows(self, ids: Tensor) -> Tensor:
        """Rows of the matrix as they were before packing: [*ids.shape, in] int8."""
        blocks = -(-len(self.sums) // _BLOCK)
        packed = self.weights.view(blocks, -1, _BLOCK, _DEEP)  # [blocks, in / 4, 16 rows, 4 columns]
        return packed[ids // _BLOCK, :, ids % _BLOCK].flatten(-2)[..., : self.depth]


def int8_available() -> bool:
    """True if the kernel was compiled."""
    return library() is not None


def int8_pack(weight: Tensor, scale: Tensor) -> PackedInt8:
    """`weight` [out, in] int8, `scale` [out]."""
    (out, depth), weight = weight.shape, weight.contiguous()
    packed = torch.empty(call("fenster_int8_bytes", out, depth) or 0, dtype=torch.int8)
    sums = torch.empty(out, dtype=torch.int32)
    call("fenster_int8_pack", weight, out, depth, packed, sums)
    return PackedInt8(packed, sums, scale.float().clone(memory_format=torch.contiguous_format), depth)


def int8_linear(
    x: Tensor, packed: PackedInt8, bias: Tensor | None, nonnegative: bool = False, kind: int = 0
) -> Tensor:
    """x [rows, in] float32 times the matrix, plus `bias` [out]: [rows, out]. Each row of x becomes whole numbers from
    -127 to 127 by its own largest one, but for a few numbers that are far larger than the others. `nonnegative`:
    negative numbers count as zero (a ReLU). `kind`: the instructions to use, 0 the best that the processor has, 1
    plain ones, 2 AVX2, 3 AVX-512 with VNNI."""
    x = x.contiguous()
    (rows, _), columns = x.shape, len(packed.sums)
    out = x.new_empty(rows, columns)
    matrix = (packed.weights, packed.sums, packed.scale)
    threads = thread_count()
    failed = call(
        "fenster_int8_linear", x, rows, packed.depth, *matrix, bias, columns, out, nonnegative, threads, kind
    )
    if failed == _NOT_FINITE:
        raise nan_error()
    if failed:
        raise ValueError(f"this processor has no instructions of kind {kind}")
    return out
