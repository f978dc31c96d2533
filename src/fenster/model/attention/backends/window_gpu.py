"""Window attention as one fused GPU kernel: the torch side of `kernels.window`.

O(L) extra memory: the output, one log-sum per query and head, the gradients, and for `band_gpu` 64 numbers per query
and head; no copies of keys, no masks. Results do not depend on the run: there are no atomics.

On a CPU the same kernels run in Triton's interpreter when TRITON_INTERPRET=1 is set before they are imported;
that is how tests without a GPU exercise them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fenster.errors import FensterError
from fenster.model.attention.backends.base import Backend
from fenster.model.attention.mask import AttentionMask, Relative
from fenster.model.ops.custom_op import CustomOp, Run
from fenster.model.ops.device import require_triton, shared_memory

try:
    require_triton()
    import triton

    from fenster.model.attention.backends import band_gpu as band
    from fenster.model.attention.kernels import window as kernels
except ImportError:  # no GPU, or a torch build without Triton: `block_attention` does the work
    triton = None

INTERPRETED = triton is not None and bool(triton.knobs.runtime.interpret)  # as the kernels were defined
SIZES = (16, 32, 64, 128)  # head sizes that the kernels take


class Tile(NamedTuple):
    """Rows of queries (m) and keys (n) that a program takes at a time, its warps and pipeline stages."""

    m: int
    n: int
    warps: int = 4
    stages: int = 2


@dataclass(frozen=True)
class Tiles:
    """The tiles of the three kernels."""

    forward: Tile
    queries: Tile
    keys: Tile


def available(x: Tensor) -> bool:
    """True if the kernels can run on a tensor like `x` [tokens, H, D]."""
    if triton is None or x.shape[-1] not in SIZES or x.dtype == torch.float64:
        return False
    if x.dtype == torch.float32 and x.shape[-1] > 64 and shared_memory(x.device) < 190 << 10:
        return False
    return x.is_cuda or INTERPRETED


def window_gpu_attention(q: Tensor, k: Tensor, v: Tensor, mask: AttentionMask, relative: Relative | None) -> Tensor:
    assert mask.window is not None
    if not available(q):
        raise FensterError(
            f"the fused kernel cannot run on {q.device.type} tensors of {q.dtype}, head size {q.shape[-1]}",
            expected=f"CUDA with Triton, float32 or less, head sizes {', '.join(map(str, SIZES))}",
            fix="set backend: auto, which falls back to block",
        )
    window, own = mask.window, mask.center is None
    if relative is not None and not own:
        raise ValueError("relative positions are defined for self-attention only")
    first, last, *reached = key_intervals(q, mask)
    table = None if relative is None else _dense(relative.span(window).to(q.dtype))  # under autocast wider
    after = (0 if mask.causal else window) if own else -1
    out: Tensor = _attend(q, k, v, table, first, last, *reached, window, after)[0]
    return out


def key_intervals(q: Tensor, mask: AttentionMask) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """What the kernels need of a mask: each query's interval, and in cross-attention each key block's queries."""
    if mask.center is None:
        return *mask.interval_int32, None, None
    return *mask.interval_int32, *mask.queries_of_key_blocks(_key_rows(q))


def _key_rows(q: Tensor) -> int:
    """Rows of keys in a tile of the key pass, which masks must know in cross-attention."""
    return 32 if q.dtype == torch.float32 or q.shape[-1] > 64 else 64


def _tiles(q: Tensor, relative: bool) -> Tiles:
    """Measured on an H200 (docs/performance.md): the shapes that were fastest for heads of 64 in bfloat16."""
    rows = _key_rows(q)
    if rows == 32:
        small = Tile(32, rows, 4, 1)  # three-fold tf32 products of float32 take up to 180 KiB of shared memory
        return Tiles(small, small, small)
    if relative:
        return Tiles(Tile(64, 64, 4, 3), Tile(32, 32, 4, 3), Tile(64, rows, 4, 1))
    return Tiles(Tile(64, 32, 4, 3), Tile(64, 64), Tile(32, rows))


def _constants(q: Tensor, window: int, tile: Tile, table: Tensor | None) -> dict[str, Any]:
    """Compile-time constants that all kernels share."""
    whole = max(16, triton.next_power_of_2(2 * window + 1))
    one = whole <= 64
    return {
        "D": q.shape[-1],
        "BM": tile.m,
        "BN": tile.n,
        "RP": whole if one else triton.next_power_of_2(tile.m + tile.n),
        "RELATIVE": table is not None,
        "WHOLE": one,
        "PRECISION": "tf32x3" if q.dtype == torch.float32 else "tf32",
        "num_warps": tile.warps,
        "num_stages": tile.stages,
    }


def _strides(*tensors: Tensor | None) -> list[int]:
    """Row and head strides; the last dimension is always dense."""
    return [stride for x in tensors for stride in ((0, 0) if x is None else (x.stride(0), x.stride(1)))]


def _dense(x: Tensor) -> Tensor:
    return x if x.stride(-1) == 1 else x.contiguous()


def _forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    table: Tensor | None,
    first: Tensor,
    last: Tensor,
    query_first: Tensor | None,
    query_last: Tensor | None,
    window: int,
    after: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(context [T, H, D], log2 of the softmax mass [H, T], two that `band` keeps). `after` is -1 in cross-attention,
    else how many keys behind its own place a query sees. `query_first` and `query_last` serve the backward pass."""
    if band.fits(q, window, after, table is not None):
        return band.forward(q, k, v, table, first, last, window)
    tokens, heads, size = q.shape
    q, k, v = _dense(q), _dense(k), _dense(v)
    out = q.new_empty(q.shape)
    lse = q.new_empty((heads, tokens), dtype=torch.float32)
    tile = _tiles(q, table is not None).forward
    kernels.forward[(triton.cdiv(tokens, tile.m), heads)](
        q, k, v, table, first, last, out, lse,
        *_strides(q, k, v, table, out), tokens, len(k), window, size**-0.5,
        **_constants(q, window, tile, table),
    )  # fmt: skip
    return out, lse, q.new_empty(0), q.new_empty(0)


def _shapes(q: Tensor, k: Tensor, v: Tensor, table: Tensor | None, *rest: Any) -> tuple[Tensor, ...]:
    window, after = rest[-2:]
    kept = band.kept_shapes(q, table if band.fits(q, window, after, table is not None) else None)
    lse = q.new_empty((q.shape[1], q.shape[0]), dtype=torch.float32)
    return q.new_empty(q.shape), lse, *(q.new_empty(shape) for shape in kept)


def _backward(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    table: Tensor | None,
    first: Tensor,
    last: Tensor,
    query_first: Tensor | None,
    query_last: Tensor | None,
    out: Tensor,
    lse: Tensor,
    rotated_q: Tensor,
    fourier_coeffs: Tensor,
    window: int,
    after: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(dq, dk, dv, dtable); dtable is empty without a table."""
    if band.fits(q, window, after, table is not None):
        return band.backward(dout, q, k, v, table, first, last, out, lse, rotated_q, fourier_coeffs, window)
    tokens, heads, size = q.shape
    q, k, v, dout = _dense(q), _dense(k), _dense(v), _dense(dout)
    tiles = _tiles(q, table is not None)
    dq, dk, dv = (x.new_empty(x.shape) for x in (q, k, v))
    delta = torch.empty_like(lse)
    constants = _constants(q, window, tiles.queries, table)
    blocks = triton.cdiv(tokens, tiles.queries.m)
    programs = min(blocks, band.programs(q.device, heads, 2)) if table is not None else blocks
    # One slot per program; slices of a wide table are added to, so they begin at zero.
    make = torch.empty if constants["WHOLE"] else torch.zeros
    share = make(
        (programs, 2 * window + 1, heads, size) if table is not None else (0,),
        device=q.device,
        dtype=torch.float32,
    )
    scale = size**-0.5
    kernels.backward_queries[(programs, heads)](
        q, k, v, table, first, last, out, lse, dout, dq, delta, share,
        *_strides(q, k, v, table, out, dout, dq), tokens, len(k), window, scale, heads, blocks, programs,
        **constants,
    )  # fmt: skip
    kernels.backward_keys[(triton.cdiv(len(k), tiles.keys.n), heads)](
        q, k, v, table, first, last, lse, dout, delta, dk, dv, query_first, query_last,
        *_strides(q, k, v, table, dout, dk, dv), tokens, len(k), window, scale, max(after, 0),
        SELF=after >= 0, **_constants(q, window, tiles.keys, table),
    )  # fmt: skip
    dtable = share if table is None else share.sum(0).to(table.dtype)
    return dq, dk, dv, dtable


def _backward_shapes(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, table: Tensor | None, *_: object
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    dtable = q.new_empty((0,), dtype=torch.float32) if table is None else table.new_empty(table.shape)
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape), dtable


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    *tensors, ctx.window, ctx.after = inputs
    ctx.save_for_backward(*tensors, *output)
    ctx.mark_non_differentiable(*output[1:])


def _differentiate(ctx: Any, backward: Run, dout: Tensor, *_: Tensor | None) -> tuple[Tensor | None, ...]:
    q, k, v, table, *rest = ctx.saved_tensors
    dq, dk, dv, dtable = backward(dout, q, k, v, table, *rest, ctx.window, ctx.after)
    return dq, dk, dv, None if table is None else dtable, None, None, None, None, None, None


_attend = CustomOp(
    "window_attention",
    _forward,
    _backward,
    shapes=(_shapes, _backward_shapes),
    save=_save,
    differentiate=_differentiate,
)


WINDOW_GPU = Backend(
    window_gpu_attention,
    masks="windows",
    available=lambda q, mask, relative: available(q),
    precompute=lambda q, mask, relative: key_intervals(q, mask),
    requires=f"a GPU with Triton, float32 or less, head sizes {', '.join(map(str, SIZES))}",
    in_auto=lambda q: q.is_cuda,  # in Triton's interpreter only tests ask for it
)
