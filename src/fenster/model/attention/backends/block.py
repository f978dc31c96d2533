"""Window attention in blocks: pure PyTorch, O(L·w) time and memory, on any device.

Queries are taken in blocks of consecutive rows of the packed tensor; each block meets one run of consecutive
keys that covers all its windows, as small dense products. In self-attention the run is the block with a margin
of w on either side. In cross-attention it begins at the block's first visible key; blocks whose windows are too
far apart for one run (an alignment that jumps, a far longer source) fall back to `gather`, so the
result is exact for every alignment.

The blocks of one chunk of rows are computed at a time, and again in the backward pass: what is in memory beyond
inputs and outputs does not grow with the document, and stays in the processor's cache.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.model.attention.backends.base import Backend, everywhere
from fenster.model.attention.backends.gather import gather_interval
from fenster.model.attention.mask import AttentionMask, Relative
from fenster.model.ops.precision import at_least_float32

CHUNK = 1024  # query rows computed at a time


def block_attention(q: Tensor, k: Tensor, v: Tensor, mask: AttentionMask, relative: Relative | None) -> Tensor:
    assert mask.window is not None
    if relative is not None and mask.center is not None:
        raise ValueError("relative positions are defined for self-attention only")
    if not len(q):
        return torch.empty_like(q)
    table = None if relative is None else relative.span(mask.window)
    out: Tensor = _Blocks.apply(q, k, v, table, mask)  # type: ignore[no-untyped-call]
    return out


class _Blocks(torch.autograd.Function):
    """Chunk by chunk; the backward pass computes each chunk again and differentiates that."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, table: Tensor | None, mask: AttentionMask) -> Tensor:
        ctx.save_for_backward(q, k, v, table)
        ctx.mask, ctx.parts = mask, _parts(mask)
        out = torch.empty(q.shape, device=q.device, dtype=q.dtype)
        for rows, keys in ctx.parts:
            out[rows] = _part(q[rows], k[keys], v[keys], table, mask, rows, keys)
        return out

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # create_graph: what follows is not part of a graph
            raise RuntimeError("block attention has no second derivative; `gather` has one")
        q, k, v, table = ctx.saved_tensors
        dq = torch.empty(q.shape, device=q.device, dtype=q.dtype)
        dk, dv = (torch.zeros(x.shape, device=x.device, dtype=x.dtype) for x in (k, v))
        dtable = None if table is None else torch.zeros_like(at_least_float32(table))  # a sum over all chunks
        for rows, keys in ctx.parts:
            parts = [x.detach().requires_grad_() for x in (q[rows], k[keys], v[keys])]
            own = None if table is None else table.detach().requires_grad_()
            with torch.enable_grad():
                out = _part(parts[0], parts[1], parts[2], own, ctx.mask, rows, keys)
            leaves = parts if own is None else [*parts, own]
            gradients = torch.autograd.grad(out, leaves, dout[rows])
            dq[rows] = gradients[0]
            dk[keys] += gradients[1]
            dv[keys] += gradients[2]
            if dtable is not None:
                dtable += gradients[3]
        return dq, dk, dv, None if dtable is None else dtable.to(table.dtype), None


def _parts(mask: AttentionMask) -> list[tuple[slice, slice]]:
    """(query rows, the key rows they see) of each chunk."""
    first, last = mask.interval
    rows = [slice(begin, min(begin + CHUNK, len(first))) for begin in range(0, len(first), CHUNK)]
    ends = torch.stack([torch.stack([first[part].amin(), last[part].amax()]) for part in rows]).tolist()
    return [(part, slice(low, high + 1)) for part, (low, high) in zip(rows, ends, strict=True)]


def _part(
    q: Tensor, k: Tensor, v: Tensor, table: Tensor | None, mask: AttentionMask, rows: slice, keys: slice
) -> Tensor:
    """Attention of some query rows to the key rows that they see."""
    assert mask.window is not None
    first, last = (row[rows] - keys.start for row in mask.interval)
    size = _block_size(mask.window, len(q))
    if mask.center is None:
        after = 0 if mask.causal else mask.window
        return _self(q, k, v, table, first, last, size, mask.window, after, rows.start - keys.start)
    return _cross(q, k, v, first, last, size, mask.window)


def _block_size(window: int, tokens: int) -> int:
    """About the window's width: smaller blocks repeat more keys, larger ones compute more masked products."""
    return max(1, min(max(32, (3 * window) // 2), tokens))


def _self(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    table: Tensor | None,
    first: Tensor,
    last: Tensor,
    size: int,
    window: int,
    after: int,
    shift: int,
) -> Tensor:
    """Query t is key t + shift; `after` keys beyond its own place are seen."""
    tokens = len(q)
    blocks = -(-tokens // size)
    run = window + size + after
    before = window - shift  # rows missing in front of the first run
    behind = window + blocks * size + after - before - len(k)  # or, if negative, keys that no query sees
    queries = _blocked(q, blocks, size)  # [n, H, size, D]
    keys, values = (
        F.pad(x, (0, 0, 0, 0, before, behind)).unfold(0, run, size).transpose(2, 3)  # [n, H, run, D]
        for x in (k, v)
    )
    start = torch.arange(blocks, device=q.device) * size - before  # [n] row of each run's first key
    term = None
    if table is not None:
        # Slot s of query t is key t + s - window of the block, so its distance is window - (s - t): take the
        # table from +window down, one column for each s - t, and move row t by t places.
        columns = table.flip(0)[: window + after + 1].to(q.dtype)
        term = torch.einsum("nhtd,rhd->nhtr", queries, columns)
        term = F.pad(term, (0, size)).flatten(2)[..., : size * run].view(*term.shape[:2], size, run)
    out = _attend(queries, keys, values, _visible(first, last, start, run, blocks, size), term)
    return out.transpose(1, 2).flatten(0, 1)[:tokens]


def _cross(q: Tensor, k: Tensor, v: Tensor, first: Tensor, last: Tensor, size: int, window: int) -> Tensor:
    tokens = len(q)
    blocks = -(-tokens // size)
    fill = blocks * size - tokens
    start = F.pad(first, (0, fill), value=len(k)).view(blocks, size).amin(1)  # [n]
    span = F.pad(last, (0, fill), value=-1).view(blocks, size).amax(1) - start + 1
    near = span <= 3 * size + 2 * window
    run = int(torch.where(near, span, 1).amax())
    index = (start[:, None] + torch.arange(run, device=q.device)).clamp(max=len(k) - 1).flatten()
    keys, values = (
        x.index_select(0, index).view(blocks, run, *x.shape[1:]).transpose(1, 2)  # [n, H, run, D]
        for x in (k, v)
    )
    visible = _visible(first, last, start, run, blocks, size)
    out = _attend(_blocked(q, blocks, size), keys, values, visible, None).transpose(1, 2).flatten(0, 1)[:tokens]
    if bool(near.all()):
        return out
    rows = (~near).repeat_interleave(size)[:tokens].nonzero().squeeze(1)
    far = gather_interval(q[rows], k, v, first[rows], last[rows], window, None)
    return out.index_copy(0, rows, far.to(out.dtype))


def _blocked(q: Tensor, blocks: int, size: int) -> Tensor:
    """[T, H, D] -> [n, H, size, D], zeros beyond the end."""
    return F.pad(q, (0, 0, 0, 0, 0, blocks * size - len(q))).view(blocks, size, *q.shape[1:]).transpose(1, 2)


def _visible(first: Tensor, last: Tensor, start: Tensor, run: int, blocks: int, size: int) -> Tensor:
    """[n, 1, size, run]: which slots of its run each query sees. Rows without any see slot 0 and are dropped."""
    fill = blocks * size - len(first)
    low = F.pad(first, (0, fill)).view(blocks, size, 1) - start[:, None, None]
    high = F.pad(last, (0, fill), value=-1).view(blocks, size, 1) - start[:, None, None]
    slot = torch.arange(run, device=first.device)
    visible = (slot >= low) & (slot <= high)
    empty = (high < 0) | (low >= run) | (high < low)
    return (visible | (empty & (slot == 0))).unsqueeze(1)


def _attend(q: Tensor, k: Tensor, v: Tensor, visible: Tensor, term: Tensor | None) -> Tensor:
    """[n, H, size, D] queries against [n, H, run, D] keys."""
    if term is None:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)
    logits = at_least_float32(q @ k.transpose(-1, -2) + term) * q.shape[-1] ** -0.5
    out: Tensor = logits.masked_fill(~visible, -torch.inf).softmax(-1).to(v.dtype) @ v
    return out


BLOCK = Backend(block_attention, masks="windows", in_auto=everywhere)
