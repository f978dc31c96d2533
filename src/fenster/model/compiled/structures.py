"""The structures of `fenster/native` in ctypes. Their pointers do not keep alive what they point to: callers do."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from fenster.io.native_library import required_library
from fenster.io.progress import report

_TYPES = {"p": ctypes.c_void_p, "s": ctypes.c_int64, "d": ctypes.c_double}
Array = npt.NDArray[Any]


def _fields(kinds: dict[str, str]) -> list[tuple[str, type]]:
    """Fields of the same kind: p for pointers, s for sizes, d for floating point."""
    return [(name, _TYPES[kind]) for kind, names in kinds.items() for name in names.split()]


def pointer(array: Array | None) -> int | None:
    """The address of a contiguous array."""
    if array is None:
        return None
    assert array.flags.c_contiguous
    return int(array.ctypes.data)


class Matrix(ctypes.Structure):
    """native/matrix.h"""

    _fields_ = _fields({"p": "packed sums scale bias", "s": "columns depth is_int8 after_relu"})


class Norm(ctypes.Structure):
    """native/norm.h"""

    _fields_ = _fields({"p": "weight bias", "d": "epsilon"})


class EncoderLayer(ctypes.Structure):
    """native/network.h"""

    _fields_ = [
        *((name, Matrix) for name in ("qkv", "out", "up", "down")),
        *((name, Norm) for name in ("attention_norm", "ffn_norm")),
        ("table", ctypes.c_void_p),
    ]


class DecoderLayer(ctypes.Structure):
    """native/network.h"""

    _fields_ = [
        *((name, Matrix) for name in ("qkv", "out", "cross_q", "cross_kv", "cross_out", "up", "down")),
        *((name, Norm) for name in ("attention_norm", "cross_norm", "ffn_norm")),
        ("table", ctypes.c_void_p),
    ]


class Network(ctypes.Structure):
    """native/network.h"""

    _fields_ = [
        ("encoder", ctypes.POINTER(EncoderLayer)),
        ("decoder", ctypes.POINTER(DecoderLayer)),
        *_fields({"s": "encoder_layers decoder_layers width heads"}),
        ("embedding", Matrix),
        ("encoder_norm", Norm),
        ("decoder_norm", Norm),
        *_fields({"s": "norm_first sinusoids window branches max_distance"}),
    ]


class Source(ctypes.Structure):
    """native/encoder.h"""

    _fields_ = [*_fields({"p": "ids starts", "s": "tokens sentences position needed"}), ("memory", ctypes.c_void_p)]


class Target(ctypes.Structure):
    """native/decoder.h"""

    _fields_ = [
        *_fields({"p": "inputs starts", "s": "tokens sentences position"}),
        *_fields({"p": "centers next_centers", "s": "rows columns by_sentence"}),
    ]


class Request(ctypes.Structure):
    """native/beam.h"""

    _fields_ = [
        ("source", Source),
        ("target", Target),
        *_fields({"p": "max_tokens", "s": "count min_tokens forced_count stop_at_separator"}),
        *_fields({"p": "required banned"}),
    ]


class Settings(ctypes.Structure):
    """native/beam.h"""

    _fields_ = [
        ("beam", ctypes.c_int64),
        ("normalisation", ctypes.c_double),
        *_fields({"s": "separator end first_word first_placeholder placeholders focus"}),
    ]


@cache
def has_this_layout() -> bool:
    """True if the library has the structures as they are here."""
    structures = (Matrix, Norm, EncoderLayer, DecoderLayer, Network, Request, Settings)
    theirs = [required_library().fenster_structure_bytes(number) for number in range(len(structures))]
    if theirs == list(map(ctypes.sizeof, structures)):
        return True
    report("the compiled library is from another version; falling back to PyTorch. To fix this, reinstall fenster")
    return False


def int32(values: Any) -> npt.NDArray[np.int32]:
    return np.ascontiguousarray(values, dtype=np.int32)
