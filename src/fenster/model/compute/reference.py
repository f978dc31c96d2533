"""The oracle: dense mask, float32 or wider, nothing clever. Every other computation must equal it."""

from __future__ import annotations

import torch
from torch import Tensor

from fenster.model.pattern import Pattern, Relative
from fenster.model.precision import widened


def weights(q: Tensor, k: Tensor, pattern: Pattern, relative: Relative | None) -> Tensor:
    """Attention weights [H, T, S]; keys that may not be seen have exactly 0."""
    with torch.autocast(q.device.type, enabled=False):
        return _weights(widened(q), widened(k), pattern, relative)


def _weights(q: Tensor, k: Tensor, pattern: Pattern, relative: Relative | None) -> Tensor:
    logits = torch.einsum("thd,shd->hts", q, k)
    if relative is not None:
        distance = pattern.queries.position[:, None] - pattern.keys.position[None, :]  # [T, S]
        term = torch.einsum("thd,rhd->htr", q, widened(relative.table))  # q_i · r for every r of the table
        logits = logits + term.gather(-1, relative.index(distance).expand_as(logits))
    logits = logits * q.shape[-1] ** -0.5
    seen: Tensor = logits.masked_fill(~pattern.allowed(), -torch.inf).softmax(-1)
    return seen


def reference(q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, relative: Relative | None) -> Tensor:
    with torch.autocast(q.device.type, enabled=False):
        return torch.einsum("hts,shd->thd", weights(q, k, pattern, relative), widened(v)).to(q.dtype)
