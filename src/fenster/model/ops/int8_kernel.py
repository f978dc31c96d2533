"""The compiled int8 kernel, `fenster/native/int8.cpp`, through ctypes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import torch
from torch import Tensor

from fenster.errors import nan_error

_FOLDER = Path(__file__).parents[2]
_POINTER, _SIZE, _INT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int


@dataclass(frozen=True)
class PackedInt8:
    """A matrix [out, in] in the kernel's order."""

    weights: Tensor
    sums: Tensor
    """[out]"""
    scale: Tensor
    """[out], what the numbers of each row are multiplied with."""
    depth: int


@cache
def _library() -> ctypes.CDLL | None:
    """None if the package was installed where no compiler was."""
    for suffix in EXTENSION_SUFFIXES:
        path = _FOLDER / f"_native{suffix}"
        if path.is_file():
            library = ctypes.CDLL(str(path))
            break
    else:
        return None
    library.fenster_int8_bytes.argtypes, library.fenster_int8_bytes.restype = [_SIZE, _SIZE], _SIZE
    library.fenster_int8_pack.argtypes = [_POINTER, _SIZE, _SIZE, _POINTER, _POINTER]
    library.fenster_int8_pack.restype = None
    pointers = [_POINTER] * 4
    library.fenster_int8_linear.argtypes = [
        _POINTER, _SIZE, _SIZE, *pointers, _SIZE, _POINTER, _INT, _INT, _INT,
    ]  # fmt: skip
    library.fenster_int8_linear.restype = _INT
    return library


def int8_available() -> bool:
    """True if the kernel was compiled."""
    return _library() is not None


def int8_pack(weight: Tensor, scale: Tensor) -> PackedInt8:
    """`weight` [out, in] int8, `scale` [out]."""
    library = _library()
    assert library is not None, "int8_available says so"
    (out, depth), weight = weight.shape, weight.contiguous()
    packed = torch.empty(library.fenster_int8_bytes(out, depth), dtype=torch.int8)
    sums = torch.empty(out, dtype=torch.int32)
    library.fenster_int8_pack(weight.data_ptr(), out, depth, packed.data_ptr(), sums.data_ptr())
    return PackedInt8(packed, sums, scale.float().contiguous(), depth)


def int8_linear(
    x: Tensor, packed: PackedInt8, bias: Tensor | None, nonnegative: bool = False, kind: int = 0
) -> Tensor:
    """x [rows, in] float32 times the matrix, plus `bias` [out]: [rows, out]. Each row of x is quantised to 7 bits by
    its own largest number; `nonnegative` rows are never negative, and all steps are spent where they are. `kind` of
    instructions: 0 the best that the processor has, 1 none, 2 AVX2, 3 AVX-512 with VNNI."""
    library = _library()
    assert library is not None, "int8_available says so"
    x = x.contiguous()
    out = x.new_empty(x.shape[0], packed.sums.shape[0])
    failed = library.fenster_int8_linear(
        x.data_ptr(),
        x.shape[0],
        packed.depth,
        packed.weights.data_ptr(),
        packed.sums.data_ptr(),
        packed.scale.data_ptr(),
        None if bias is None else bias.data_ptr(),
        out.shape[1],
        out.data_ptr(),
        nonnegative,
        torch.get_num_threads(),
        kind,
    )
    if failed == 1:
        raise nan_error()
    if failed:
        raise ValueError(f"this processor has no instructions of kind {kind}")
    return out
