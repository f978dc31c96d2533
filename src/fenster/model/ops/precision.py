"""The precision of computations."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor

MatmulPrecision = Literal["tf32", "float32"]
_TURN = threading.RLock()


@contextmanager
def matmul_precision(precision: MatmulPrecision, device: torch.device) -> Iterator[None]:
    """How exactly a GPU multiplies float32 matrices inside: tf32 keeps 10 bits of each factor, and is several times
    faster; float32 all 23. PyTorch has one such setting for all threads, so they take turns; on a CPU nothing is
    set."""
    if device.type != "cuda":
        yield
        return
    matmul = torch.backends.cuda.matmul
    with _TURN:
        before = matmul.fp32_precision
        matmul.fp32_precision = "tf32" if precision == "tf32" else "ieee"
        try:
            yield
        finally:
            matmul.fp32_precision = before


def at_least_float32(x: Tensor) -> Tensor:
    """`x` in float32, or as it is if it is wider (tests run in float64): sums are never made in less."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def to_autocast_dtype(x: Tensor) -> Tensor:
    """`x` in autocast's precision where autocast is on: what layers hand to each other.

    Autocast itself would keep the residual stream in float32 and move twice the bytes; every norm still computes in
    float32.
    """
    kind = x.device.type
    return x.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else x
