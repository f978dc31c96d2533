"""Window attention as the paper computes it: select up to 2w + 1 keys and values for every query.

Linear in length, but keys and values are copied 2w + 1 times; kept because it is the paper's, and as a
yardstick.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fenster.model.attention.backends.base import Backend
from fenster.model.attention.mask import AttentionMask, Relative
from fenster.model.ops.precision import at_least_float32


def gather_attention(q: Tensor, k: Tensor, v: Tensor, mask: AttentionMask, relative: Relative | None) -> Tensor:
    assert mask.window is not None
    return gather_interval(q, k, v, *mask.interval, mask.window, relative)


def gather_interval(
    q: Tensor, k: Tensor, v: Tensor, first: Tensor, last: Tensor, window: int, relative: Relative | None
) -> Tensor:
    """Attention of queries [T, H, D] to the key rows first … last [T], at most 2 * window + 1 of them.

    With relative positions query i must be key i, as in self-attention.
    """
    index = first[:, None] + torch.arange(2 * window + 1, device=q.device)  # [T, W]
    allowed = index <= last[:, None]
    index = index.clamp(max=len(k) - 1)
    logits = torch.einsum("thd,twhd->thw", q, k[index])
    if relative is not None:
        distance = torch.arange(len(q), device=q.device)[:, None] - index
        term = torch.einsum("thd,rhd->thr", q, relative.table.to(q.dtype))  # [T, H, 2 * max_distance + 1]
        logits = logits + term.gather(-1, relative.index(distance)[:, None, :].expand_as(logits))
    logits = at_least_float32(logits) * q.shape[-1] ** -0.5
    weights = logits.masked_fill(~allowed[:, None, :], -torch.inf).softmax(-1).to(v.dtype)
    return torch.einsum("thw,twhd->thd", weights, v[index])


GATHER = Backend(gather_attention, masks="windows")
