"""Attention backends. `reference` defines what is right, for every mask. A new one is one new file and one line in
BACKENDS, before those that `auto` should choose only if it is not available."""

from __future__ import annotations

from torch import Tensor

from fenster.errors import FensterError
from fenster.model.attention.backends.base import Backend
from fenster.model.attention.backends.block import BLOCK
from fenster.model.attention.backends.dense import DENSE
from fenster.model.attention.backends.gather import GATHER
from fenster.model.attention.backends.reference import REFERENCE
from fenster.model.attention.backends.varlen import VARLEN
from fenster.model.attention.backends.window_cpu import WINDOW_CPU
from fenster.model.attention.backends.window_gpu import WINDOW_GPU
from fenster.model.attention.mask import AttentionMask, Relative
from fenster.registry import Registry

AUTO = "auto"
BACKENDS: Registry[Backend] = Registry(
    "attention backend",
    {
        "window-gpu": WINDOW_GPU,
        "window-cpu": WINDOW_CPU,
        "varlen": VARLEN,
        "block": BLOCK,
        "dense": DENSE,
        "gather": GATHER,
        "reference": REFERENCE,
    },
)


def choose(name: str, mask: AttentionMask, q: Tensor, relative: bool) -> Backend:
    """The backend for a mask and queries like `q`: the one called `name`, or with `auto` the first that can do it.

    A backend that takes only windows leaves other masks to `auto`, so that one setting serves a whole model.
    """
    if name != AUTO:
        backend = BACKENDS[name]
        if backend.takes(mask) and backend.available(q, mask, relative):
            return backend
        if backend.takes(mask) or backend.masks != "windows":
            raise FensterError(
                f"the attention backend {name!r} cannot compute this attention",
                expected=backend.requires or f"masks that are {backend.masks}",
                fix="set backend: auto",
            )
    for backend in BACKENDS.values():
        chosen = backend.in_auto is not None and backend.in_auto(q) and backend.takes(mask)
        if chosen and backend.available(q, mask, relative):
            return backend
    raise AssertionError("dense takes every mask")


def attend(name: str, q: Tensor, k: Tensor, v: Tensor, mask: AttentionMask, relative: Relative | None) -> Tensor:
    """Context vectors [T, H, D], computed by the backend `name` (or auto)."""
    return choose(name, mask, q, relative is not None).attend(q, k, v, mask, relative)


def precompute(name: str, mask: AttentionMask, q: Tensor, relative: bool) -> None:
    """Cache what the chosen backend needs of a mask now, rather than in the first layer that asks for it."""
    choose(name, mask, q, relative).precompute(q, mask, relative)


__all__ = ["AUTO", "BACKENDS", "Backend", "attend", "choose", "precompute"]
