"""Window attention on a CPU without gradients: a compiled loop in which each query meets its own keys only."""

from __future__ import annotations

from torch import Tensor

from fenster.model.attention.backends.base import Backend
from fenster.model.attention.mask import AttentionMask, Relative
from fenster.model.ops.native import call, runs, thread_count


def window_cpu_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: AttentionMask, relative: Relative | None, *, plain: bool = False
) -> Tensor:
    """`plain`: without the processor's vector instructions, for tests."""
    assert mask.window is not None
    if relative is not None and mask.center is not None:
        raise ValueError("relative positions are defined for self-attention only")
    first, last = mask.interval
    table = None if relative is None else relative.span(mask.window).to(q.dtype).contiguous()
    q, k, v = (x if x.stride()[1:] == (x.shape[2], 1) else x.contiguous() for x in (q, k, v))
    out = q.new_empty(q.shape)
    strides = (x.stride(0) for x in (q, k, v))
    call(
        "fenster_window_attention",
        *(q, k, v, table, first, last),
        *(*q.shape, *strides, mask.window),
        *(out, thread_count(), plain),
    )
    return out


WINDOW_CPU = Backend(
    window_cpu_attention,
    masks="windows",
    available=lambda q, mask, relative: runs(q),
    precompute=lambda q, mask, relative: mask.interval,
    requires="a CPU, float32, no gradients, and a C++ compiler when fenster was installed",
    in_auto=lambda q: q.device.type == "cpu",
)
