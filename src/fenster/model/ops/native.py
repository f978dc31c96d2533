"""The compiled library with tensors."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from fenster.io.native_library import library

threads: int | None = None
"""Of calls of the library, if not as many as PyTorch's."""


def runs(x: Tensor) -> bool:
    """True if the library is there and can compute with tensors like `x`: float32 on a CPU, no gradients."""
    return (
        x.device.type == "cpu" and x.dtype == torch.float32 and not torch.is_grad_enabled() and library() is not None
    )


def thread_count() -> int:
    return torch.get_num_threads() if threads is None else threads


Argument = Tensor | int | ctypes.Structure | ctypes.Array[Any] | None


def call(name: str, *arguments: Argument) -> int | None:
    """Call a function with numbers, and with pointers to tensors and structures."""
    loaded = library()
    assert loaded is not None, "library() says so"
    result: int | None = getattr(loaded, name)(*map(_passed, arguments))
    return result


def _passed(argument: Argument) -> object:
    if isinstance(argument, Tensor):
        return argument.data_ptr()
    return ctypes.byref(argument) if isinstance(argument, ctypes.Structure) else argument


def pointers(tensors: Sequence[Tensor]) -> ctypes.Array[ctypes.c_void_p]:
    """An array of pointers to tensors, which the caller keeps."""
    return (ctypes.c_void_p * len(tensors))(*(tensor.data_ptr() for tensor in tensors))
