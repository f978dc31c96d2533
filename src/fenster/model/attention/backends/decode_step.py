"""Attention of one decoding step: one query per hypothesis, against the slots of a cache.

On a GPU one kernel (`kernels.decode_step`) that reads slots in place; elsewhere PyTorch's own attention.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.model.attention.backends.window_gpu import SIZES
from fenster.model.attention.cache import CacheView, hyps_per_group
from fenster.model.layout import power_of_two
from fenster.model.ops.device import require_triton

try:
    require_triton()
    import triton

    from fenster.model.attention.kernels import decode_step as kernels
except ImportError:  # no GPU, or a torch build without Triton
    triton = None

_ROOM = 48 << 10  # bytes of a group's queries and of the relative table that a program can hold
_SLOTS = 32  # read at a time, if one of them is visible


def available(q: Tensor, n_hyps: int, table: Tensor | None) -> bool:
    """True if the kernel can run on queries like `q` [N, H, D], `n_hyps` per group."""
    if triton is None or q.shape[-1] not in SIZES or q.dtype == torch.float64 or not n_hyps:
        return False
    return (_padded(n_hyps) + _distances(table)) * q.shape[-1] * q.element_size() <= _ROOM


def _padded(rows: int) -> int:
    return max(16, power_of_two(rows))  # products need 16


def _distances(table: Tensor | None) -> int:
    return 16 if table is None else _padded(len(table))


def decode_attention(q: Tensor, kv: Tensor, view: CacheView, table: Tensor | None) -> list[Tensor]:
    """[N, H, D] for every mask of the view. `kv` are slots [G, M, 2, H, D], or rows [·, 2, H, D] if the view says
    which of them the slots are; `table` [distances, H, D] are the relative vectors, if any."""
    table = table if view.relative is not None else None
    groups = len(kv) if view.rows is None else len(view.rows)
    if q.is_cuda and available(q, len(q) // max(1, groups), table):
        return decode_attention_gpu(q, kv, view, table)
    return decode_attention_torch(q, kv, view, table)


def decode_attention_torch(q: Tensor, kv: Tensor, view: CacheView, table: Tensor | None) -> list[Tensor]:
    """The same in PyTorch, on any device, at any precision."""
    groups = len(kv) if view.rows is None else len(view.rows)
    if view.rows is not None:
        # Rows of a table: far faster on a CPU than indexing with [G, M] indices.
        kv = F.embedding(view.rows, kv.reshape(-1, kv.shape[-3:].numel())).view(*view.rows.shape, *kv.shape[-3:])
    slots = kv.shape[1]
    n_hyps, heads = hyps_per_group(q, kv), q.shape[1]
    bias = None  # [G, H, N / G, M]
    if table is not None and view.relative is not None:
        term = torch.einsum("nhd,rhd->nhr", q, table.to(q.dtype)) * q.shape[-1] ** -0.5
        bias = term.gather(-1, view.relative[:, None, :].expand(-1, heads, -1))
        bias = bias.view(groups, n_hyps, heads, slots).transpose(1, 2)
    # Hypotheses that attend to the same slots are the rows of one product.
    grouped = q.view(groups, n_hyps, *q.shape[1:]).transpose(1, 2)  # [G, H, N / G, D]
    k, v = kv.permute(2, 0, 3, 1, 4)  # [G, H, M, D] each
    contexts = []
    for allowed in view.allowed:
        visible = allowed.view(groups, 1, hyps_per_group(allowed, kv), slots)
        if bias is not None:
            visible = bias.masked_fill(~visible, -torch.inf)
        out = F.scaled_dot_product_attention(grouped, k, v, attn_mask=visible)
        contexts.append(out.transpose(1, 2).reshape(q.shape))
    return contexts


def decode_attention_gpu(q: Tensor, kv: Tensor, view: CacheView, table: Tensor | None) -> list[Tensor]:
    """The same with the kernel."""
    rows, relative = view.rows, view.relative if table is not None else None
    groups, slots = kv.shape[:2] if rows is None else rows.shape
    n_hyps, heads, size = len(q) // groups, *q.shape[1:]
    contexts = []
    for allowed in view.allowed:
        out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
        kernels.decode_attention[(groups, heads)](
            q, kv, rows, allowed.view(torch.uint8), table, relative, out,
            q.stride(0), kv.stride(0), kv.stride(-4), allowed.stride(0), slots, 0 if table is None else len(table),
            size**-0.5, H=heads, D=size, EACH=n_hyps, EACH_MASK=len(q) // len(allowed),
            BE=_padded(n_hyps), BN=_SLOTS, RP=_distances(table),
            PRECISION="tf32x3" if q.dtype == torch.float32 else "tf32", num_warps=4, num_stages=2,
        )  # fmt: skip
        contexts.append(out)
    return contexts
