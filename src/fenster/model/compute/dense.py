"""Full attention through PyTorch's fused scaled-dot-product kernels; quadratic in length.

The kernels want padded rows, so sequences are padded here and only here. With the relative term (which the
paper's concatenation ablation needs) the term is added as a dense bias.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.model.packed import Packed, pad, unpad
from fenster.model.pattern import Pattern, Relative


def dense(q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, relative: Relative | None) -> Tensor:
    queries, keys = pattern.queries, pattern.keys
    q, k, v = (pad(x, side).transpose(1, 2) for x, side in ((q, queries), (k, keys), (v, keys)))  # [B, H, L, D]
    mask = ready(pattern, relative is not None)
    if mask is None:
        out = F.scaled_dot_product_attention(q, k, v, is_causal=pattern.causal)
        return unpad(out.transpose(1, 2), queries)
    if relative is not None:
        bias = _relative_bias(q, relative, queries, keys)  # [B, H, T, S]
        mask = bias.masked_fill(~mask, -torch.inf)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return unpad(out.transpose(1, 2), queries)


def ready(pattern: Pattern, relative: bool) -> Tensor | None:
    """The mask [B, 1, T, S], computed once a pattern; None where PyTorch's kernels need none.

    In causal self-attention padding keys are out of sight anyway: they come after every real query."""
    plain = not pattern.same_sentence and pattern.window is None and not relative
    if plain and (pattern.keys.even or (pattern.causal and pattern.queries is pattern.keys)):
        return None
    return pattern.once("mask", lambda: _mask(pattern))


def _mask(pattern: Pattern) -> Tensor:
    """[B, 1, T, S]. Rows of padding queries see key 0, so that their softmax is defined; they are dropped."""
    queries, keys = pattern.queries, pattern.keys
    device = queries.offsets.device
    i = torch.arange(queries.longest, device=device)[:, None]
    j = torch.arange(keys.longest, device=device)[None, :]
    mask = j < keys.lengths[:, None, None]  # [B, 1, S]
    if pattern.causal:
        mask = mask & (j <= i)
    if pattern.same_sentence:
        mask = mask & _same_sentence(pattern)
    if pattern.window is not None:
        center = i[None] if pattern.center is None else pad(pattern.center, queries)[:, :, None]
        mask = mask & ((j - center).abs() <= pattern.window)
    if pattern.focused is not None:
        own = mask & _same_sentence(pattern)
        mask = torch.where(pad(pattern.focused, queries)[:, :, None] & own.any(2, keepdim=True), own, mask)
    padding = i >= queries.lengths[:, None, None]  # [B, T, 1]
    return (mask | (padding & (j == 0))).unsqueeze(1)


def _same_sentence(pattern: Pattern) -> Tensor:
    """[B, T, S]"""
    queries, keys = pattern.queries, pattern.keys
    return pad(queries.sentence, queries)[:, :, None] == pad(keys.sentence, keys)[:, None, :]


# Not compiled: with dynamic shapes PyTorch 2.11 keeps the strides of the first batch's index for the backward pass.
@torch.compiler.disable  # type: ignore[untyped-decorator]
def _relative_bias(q: Tensor, relative: Relative, queries: Packed, keys: Packed) -> Tensor:
    term: Tensor = torch.einsum("bhtd,rhd->bhtr", q, relative.table.to(q.dtype)) * q.shape[-1] ** -0.5
    device = q.device
    distance = torch.arange(queries.longest, device=device)[:, None] - torch.arange(keys.longest, device=device)
    index = relative.index(distance).expand(*term.shape[:2], -1, -1)
    return term.gather(-1, index)
