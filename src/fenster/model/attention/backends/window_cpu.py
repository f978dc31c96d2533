"""Window attention on a CPU without gradients: a compiled loop in which each query meets its own keys only."""

from __future__ import annotations

import torch
from torch import Tensor

from fenster.io.native_library import library, required_library
from fenster.model.attention.backends.base import Backend
from fenster.model.attention.mask import AttentionMask, Relative


def runs(x: Tensor) -> bool:
    """True if the library is there and can compute with tensors like `x`: float32 on a CPU, no gradients."""
    return (
        x.device.type == "cpu" and x.dtype == torch.float32 and not torch.is_grad_enabled() and library() is not None
    )


def window_cpu_attention(q: Tensor, k: Tensor, v: Tensor, mask: AttentionMask, relative: Relative | None) -> Tensor:
    assert mask.window is not None
    if relative is not None and mask.center is not None:
        raise ValueError("relative positions are defined for self-attention only")
    first, last = mask.interval
    table = None if relative is None else relative.span(mask.window).to(q.dtype).contiguous()
    q, k, v = (x if x.stride()[1:] == (x.shape[2], 1) else x.contiguous() for x in (q, k, v))
    out = q.new_empty(q.shape)
    strides = (x.stride(0) for x in (q, k, v))
    status = required_library().fenster_window_attention(
        *(None if x is None else x.data_ptr() for x in (q, k, v, table, first, last)),
        *(*q.shape, *strides, mask.window),
        *(out.data_ptr(), torch.get_num_threads()),
    )
    if status:
        raise MemoryError
    return out


WINDOW_CPU = Backend(
    window_cpu_attention,
    masks="windows",
    available=lambda q, mask, relative: runs(q),
    precompute=lambda q, mask, relative: mask.interval,
    requires="a CPU, float32, no gradients, and a C++ compiler when fenster was installed",
    in_auto=lambda q: q.device.type == "cpu",
)
