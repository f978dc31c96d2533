"""The oracle: dense mask, float32 or wider, nothing clever. Every other backend must equal it."""

from __future__ import annotations

import torch
from torch import Tensor

from fenster.model.attention.backends.base import Backend
from fenster.model.attention.mask import AttentionMask, Relative
from fenster.model.ops.precision import at_least_float32


def weights(q: Tensor, k: Tensor, mask: AttentionMask, relative: Relative | None) -> Tensor:
    """Attention weights [H, T, S]; keys that may not be attended to have exactly 0."""
    with torch.autocast(q.device.type, enabled=False):
        return _weights(at_least_float32(q), at_least_float32(k), mask, relative)


def _weights(q: Tensor, k: Tensor, mask: AttentionMask, relative: Relative | None) -> Tensor:
    logits = torch.einsum("thd,shd->hts", q, k)
    if relative is not None:
        distance = mask.queries.position[:, None] - mask.keys.position[None, :]  # [T, S]
        term = torch.einsum("thd,rhd->htr", q, at_least_float32(relative.table))  # q_i · r for every r of the table
        logits = logits + term.gather(-1, relative.index(distance).expand_as(logits))
    logits = logits * q.shape[-1] ** -0.5
    seen: Tensor = logits.masked_fill(~mask.allowed(), -torch.inf).softmax(-1)
    return seen


def reference_attention(q: Tensor, k: Tensor, v: Tensor, mask: AttentionMask, relative: Relative | None) -> Tensor:
    with torch.autocast(q.device.type, enabled=False):
        return torch.einsum("hts,shd->thd", weights(q, k, mask, relative), at_least_float32(v)).to(q.dtype)


REFERENCE = Backend(reference_attention)
