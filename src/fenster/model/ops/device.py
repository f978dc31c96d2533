"""Where to compute, and what there is to compute with."""

from __future__ import annotations

import torch

from fenster.errors import FensterError


def find_device(name: str) -> str:
    """cpu or cuda for auto, cpu or cuda; an error where there is no GPU but one was asked for."""
    if name not in ("auto", "cpu", "cuda"):
        raise FensterError(f"no device is called {name!r}", expected="auto, cpu or cuda")
    there = torch.cuda.is_available()
    if name == "auto":
        return "cuda" if there else "cpu"
    if name == "cuda" and not there:
        raise FensterError("device: cuda, but there is no GPU here", fix="take device: auto or cpu")
    return name


def units(device: torch.device) -> int:
    """Multiprocessors of a GPU; elsewhere (Triton's interpreter) one."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


def shared_memory(device: torch.device) -> int:
    """Bytes that a program may take; plenty in the interpreter."""
    if device.type != "cuda":
        return 1 << 30
    return int(getattr(torch.cuda.get_device_properties(device), "shared_memory_per_block_optin", 0))


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says so: a GPU's, which ending a capture may have covered with another, or a CPU's."""
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, torch.OutOfMemoryError):
        inner = inner.__context__
    return inner is not None or "can't allocate memory" in str(error)
