"""The compiled library with tensors."""

from __future__ import annotations

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


def call(name: str, *arguments: Tensor | int | None) -> int | None:
    """Call a function with pointers to tensors, and numbers."""
    loaded = library()
    assert loaded is not None, "library() says so"
    pointers = [one.data_ptr() if isinstance(one, Tensor) else one for one in arguments]
    result: int | None = getattr(loaded, name)(*pointers)
    return result
