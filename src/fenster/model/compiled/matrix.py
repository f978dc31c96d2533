"""Matrices packed for the compiled library: int8 with a scale per row, or float32."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fenster.errors import nan_error
from fenster.io.native_library import required_library
from fenster.model.compiled.structures import Matrix, pointer

Float32 = npt.NDArray[np.float32]
_LINE = 64  # bytes of a cache line
DONE, MORE, NOT_FINITE, NO_MEMORY = range(4)


def check(status: int) -> int:
    """The status of a call, unless it is an error."""
    if status == NOT_FINITE:
        raise nan_error()
    if status == NO_MEMORY:
        raise MemoryError
    return status


@dataclass(frozen=True)
class PackedMatrix:
    """A matrix [out, in] in the library's order."""

    packed: npt.NDArray[np.uint8]
    columns: int
    depth: int
    sums: npt.NDArray[np.int32] | None = None
    """int8: [out] of the weights of each row."""
    scale: Float32 | None = None
    """int8: [out] what the numbers of each row are multiplied with."""

    def structure(self, bias: Float32 | None = None, after_relu: bool = False) -> Matrix:
        """It points into the arrays, which the caller keeps."""
        addresses = map(pointer, (self.packed, self.sums, self.scale, bias))
        return Matrix(*addresses, self.columns, self.depth, self.sums is not None, after_relu)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self.packed, self.sums, self.scale) if array is not None)


def pack_int8(weight: npt.NDArray[np.int8], scale: Float32) -> PackedMatrix:
    """`weight` [out, in] from -127 to 127, `scale` [out]."""
    sums = np.empty(len(weight), dtype=np.int32)
    scale = np.array(scale, dtype=np.float32)
    columns, depth = weight.shape
    return PackedMatrix(_packed(np.ascontiguousarray(weight), sums), columns, depth, sums, scale)


def pack_float32(weight: Float32) -> PackedMatrix:
    """`weight` [out, in]."""
    columns, depth = weight.shape
    return PackedMatrix(_packed(np.ascontiguousarray(weight, dtype=np.float32), None), columns, depth)


def _packed(weight: npt.NDArray[Any], sums: npt.NDArray[np.int32] | None) -> npt.NDArray[np.uint8]:
    library, is_int8 = required_library(), sums is not None
    size = library.fenster_packed_bytes(*weight.shape, is_int8)
    room = np.empty(size + _LINE, dtype=np.uint8)
    first = -room.ctypes.data % _LINE
    packed = room[first : first + size]
    library.fenster_pack(pointer(weight), *weight.shape, is_int8, pointer(packed), pointer(sums))
    return packed


def multiply(
    x: Float32, matrix: PackedMatrix, bias: Float32 | None = None, after_relu: bool = False, threads: int = 1
) -> Float32:
    """x [rows, in] times the matrix, plus `bias` [out]: [rows, out]. With int8 weights each row of x becomes whole
    numbers from -127 to 127 by its own largest one, but for a few numbers that are far larger than the others.
    `after_relu`: negative numbers of x count as zero; float32 weights have no use for that."""
    x = np.ascontiguousarray(x, dtype=np.float32)
    out = np.empty((len(x), matrix.columns), dtype=np.float32)
    structure = matrix.structure(bias, after_relu)
    check(required_library().fenster_multiply(ctypes.byref(structure), pointer(x), len(x), pointer(out), threads))
    return out
