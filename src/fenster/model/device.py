"""Where to compute."""

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
