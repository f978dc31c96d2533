"""The compiled library of `fenster/native`, through ctypes: plain functions of pointers and sizes."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import torch
from torch import Tensor

from fenster.io.progress import report

threads: int | None = None
"""Of calls of the library, if not as many as PyTorch's."""
_FOLDER = Path(__file__).parents[2]
_POINTER, _SIZE, _INT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
_TYPES = {"p": _POINTER, "s": _SIZE, "i": _INT}
_FUNCTIONS = {  # arguments and result, as the C++ files have them
    "fenster_int8_bytes": ("ss", _SIZE),
    "fenster_int8_pack": ("psspp", None),
    "fenster_int8_linear": ("psspppp" + "spiii", _INT),
    "fenster_window_attention": ("pppppp" + "sssssss" + "pii", None),
    "fenster_decode_attention": ("pppppp" + "sssssssss" + "pii", None),
}


@cache
def library() -> ctypes.CDLL | None:
    """None if the package was installed where no compiler was."""
    paths = (_FOLDER / f"_native{suffix}" for suffix in EXTENSION_SUFFIXES)
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        return None
    try:
        loaded = ctypes.CDLL(str(path))
        for name, (arguments, result) in _FUNCTIONS.items():
            function = getattr(loaded, name)
            function.argtypes, function.restype = [_TYPES[one] for one in arguments], result
    except (OSError, AttributeError) as error:  # another system's, or an older version's
        report(f"the compiled library cannot be used ({error}); install fenster again. Computing without it")
        return None
    return loaded


def runs(x: Tensor) -> bool:
    """True if the library is there and can compute with tensors like `x`: float32 on a CPU, no gradients."""
    return (
        x.device.type == "cpu" and x.dtype == torch.float32 and not torch.is_grad_enabled() and library() is not None
    )


def thread_count() -> int:
    return torch.get_num_threads() if threads is None else threads


def call(name: str, *arguments: Tensor | int | None) -> int | None:
    """Call a function with pointers to tensors, and numbers."""
    loaded = library()
    assert loaded is not None, "library() says so"
    pointers = [one.data_ptr() if isinstance(one, Tensor) else one for one in arguments]
    result: int | None = getattr(loaded, name)(*pointers)
    return result
