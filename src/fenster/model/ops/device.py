"""Devices: which one to use, and what it can do."""

from __future__ import annotations

import os

import torch


def require_triton() -> None:
    """ImportError unless Triton's kernels can run, on a GPU or in its interpreter: importing Triton takes a while."""
    if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
        raise ImportError("no GPU")


def units(device: torch.device) -> int:
    """Multiprocessors of a GPU; one elsewhere (Triton's interpreter)."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


def shared_memory(device: torch.device) -> int:
    """Bytes of shared memory that a program may use; plenty in the interpreter."""
    if device.type != "cuda":
        return 1 << 30
    return int(getattr(torch.cuda.get_device_properties(device), "shared_memory_per_block_optin", 0))


def out_of_memory(error: BaseException) -> bool:
    """True for out-of-memory errors: a GPU's, possibly behind another one raised at the end of a capture, or a
    CPU's."""
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, torch.OutOfMemoryError):
        inner = inner.__context__
    return inner is not None or "can't allocate memory" in str(error)
