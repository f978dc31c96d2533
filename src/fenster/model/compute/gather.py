"""Window attention the paper's own way: select 2w + 1 keys and values for every query.

Linear in length, but keys and values are copied 2w + 1 times; kept because it is the paper's, and as a
yardstick.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fenster.model.pattern import Pattern, Relative
from fenster.model.precision import widened


def gather(q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, relative: Relative | None) -> Tensor:
    first, last = pattern.interval()
    return gather_rows(q, k, v, pattern, relative, first, last, None)


def gather_rows(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: Pattern,
    relative: Relative | None,
    first: Tensor,
    last: Tensor,
    rows: Tensor | None,
) -> Tensor:
    """Attention of the queries `q` [T', H, D], which are `rows` of the pattern's queries (None: all of them)."""
    assert pattern.window is not None
    queries, keys = pattern.queries, pattern.keys
    owner, position = queries.owner, queries.position
    center = position if pattern.center is None else pattern.center
    if rows is not None:
        owner, position, center, first, last = (x[rows] for x in (owner, position, center, first, last))
    offset = torch.arange(-pattern.window, pattern.window + 1, device=q.device)
    index = (keys.offsets[owner] + center)[:, None] + offset  # [T', W]
    allowed = (index >= first[:, None]) & (index <= last[:, None])
    index = index.clamp(0, len(k) - 1)
    logits = torch.einsum("thd,twhd->thw", q, k[index])
    if relative is not None:
        distance = position[:, None] - (index - keys.offsets[owner][:, None])  # [T', W]
        term = torch.einsum("thd,rhd->thr", q, relative.table.to(q.dtype))  # [T', H, 2 * reach + 1]
        logits = logits + term.gather(-1, relative.index(distance)[:, None, :].expand_as(logits))
    logits = widened(logits) * q.shape[-1] ** -0.5
    weights = logits.masked_fill(~allowed[:, None, :], -torch.inf).softmax(-1).to(v.dtype)
    return torch.einsum("thw,twhd->thd", weights, v[index])
