"""Window attention in blocks: pure PyTorch, O(L·w) time and memory, on any device.

Queries are taken in blocks of consecutive rows of the packed tensor; each block meets one run of consecutive
keys that covers all its windows, as small dense products. In self-attention the run is the block with a margin
of w on either side. In cross-attention it begins at the block's first visible key; blocks whose windows lie too
far apart for one run (an alignment that jumps, a far longer source) go the `gather` way instead, so the result
is exact for every alignment.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.model.compute.gather import gather_rows
from fenster.model.pattern import Pattern, Relative
from fenster.model.precision import widened


def block(q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, relative: Relative | None) -> Tensor:
    assert pattern.window is not None
    first, last = pattern.interval()
    size = _block_size(pattern.window, len(q))
    if pattern.center is None:
        return _self(q, k, v, pattern, relative, first, last, size)
    if relative is not None:
        raise ValueError("relative positions are defined for self-attention only")
    return _cross(q, k, v, pattern, first, last, size)


def _block_size(window: int, tokens: int) -> int:
    """About the window's width: smaller blocks repeat more keys, larger ones compute more masked products."""
    return max(1, min(max(32, (3 * window) // 2), tokens))


def _self(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: Pattern,
    relative: Relative | None,
    first: Tensor,
    last: Tensor,
    size: int,
) -> Tensor:
    assert pattern.window is not None
    tokens, window = len(q), pattern.window
    after = 0 if pattern.causal else window  # keys needed beyond the block
    blocks = -(-tokens // size)
    fill = blocks * size - tokens
    run = window + size + after
    queries = F.pad(q, (0, 0, 0, 0, 0, fill)).view(blocks, size, *q.shape[1:]).transpose(1, 2)  # [n, H, size, D]
    keys, values = (
        F.pad(x, (0, 0, 0, 0, window, after + fill)).unfold(0, run, size).transpose(2, 3)  # [n, H, run, D]
        for x in (k, v)
    )
    start = torch.arange(blocks, device=q.device) * size - window  # [n] row of each run's first key
    mask = _mask(first, last, start, run, blocks, size)
    term = None
    if relative is not None:
        # slot s of query t is key t + s - window of the block, so distance i - j = window - (s - t): take the
        # table from +window down, one column for each s - t, and shift row t by t.
        table = _columns(relative, window, after)  # [window + after + 1, H, D]
        term = torch.einsum("nhtd,rhd->nhtr", queries, table.to(q.dtype))
        term = F.pad(term, (0, size)).flatten(2)[..., : size * run].view(*term.shape[:2], size, run)
    out = _attend(queries, keys, values, mask, term)
    return out.transpose(1, 2).flatten(0, 1)[:tokens]


def _columns(relative: Relative, window: int, after: int) -> Tensor:
    distance = torch.arange(window, -after - 1, -1, device=relative.table.device)
    return relative.table[relative.index(distance)]


def _cross(q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, first: Tensor, last: Tensor, size: int) -> Tensor:
    assert pattern.window is not None
    tokens = len(q)
    blocks = -(-tokens // size)
    fill = blocks * size - tokens
    start = F.pad(first, (0, fill), value=len(k)).view(blocks, size).amin(1)  # [n]
    span = F.pad(last, (0, fill), value=-1).view(blocks, size).amax(1) - start + 1
    near = span <= 3 * size + 2 * pattern.window
    run = int(torch.where(near, span, 1).amax())
    queries = F.pad(q, (0, 0, 0, 0, 0, fill)).view(blocks, size, *q.shape[1:]).transpose(1, 2)
    index = (start[:, None] + torch.arange(run, device=q.device)).clamp(max=len(k) - 1).flatten()
    keys, values = (
        x.index_select(0, index).view(blocks, run, *x.shape[1:]).transpose(1, 2)  # [n, H, run, D]
        for x in (k, v)
    )
    mask = _mask(first, last, start, run, blocks, size)
    out = _attend(queries, keys, values, mask, None).transpose(1, 2).flatten(0, 1)[:tokens]
    if bool(near.all()):
        return out
    rows = (~near).repeat_interleave(size)[:tokens].nonzero().squeeze(1)
    far = gather_rows(q[rows], k, v, pattern, None, first, last, rows)
    return out.index_copy(0, rows, far.to(out.dtype))


def _mask(first: Tensor, last: Tensor, start: Tensor, run: int, blocks: int, size: int) -> Tensor:
    """[n, 1, size, run]: which slots of its run each query sees. Rows without any see slot 0 and are dropped."""
    fill = blocks * size - len(first)
    low = F.pad(first, (0, fill)).view(blocks, size, 1) - start[:, None, None]
    high = F.pad(last, (0, fill), value=-1).view(blocks, size, 1) - start[:, None, None]
    slot = torch.arange(run, device=first.device)
    mask = (slot >= low) & (slot <= high)
    empty = (high < 0) | (low >= run) | (high < low)
    return (mask | (empty & (slot == 0))).unsqueeze(1)


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, term: Tensor | None) -> Tensor:
    """[n, H, size, D] queries against [n, H, run, D] keys."""
    if term is None:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    logits = widened(q @ k.transpose(-1, -2) + term) * q.shape[-1] ** -0.5
    out: Tensor = logits.masked_fill(~mask, -torch.inf).softmax(-1).to(v.dtype) @ v
    return out
