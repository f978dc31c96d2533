"""Full attention through PyTorch's fused scaled-dot-product kernels; quadratic in length.

The kernels expect padded rows, so sequences are padded here. With the relative term (which the
paper's concatenation ablation needs) the term is added as a dense bias.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.model.attention.backends.base import Backend, everywhere
from fenster.model.attention.mask import AttentionMask, Relative
from fenster.model.layout import Layout, pad, unpad


def dense_attention(q: Tensor, k: Tensor, v: Tensor, mask: AttentionMask, relative: Relative | None) -> Tensor:
    queries, keys = mask.queries, mask.keys
    q, k, v = (pad(x, side).transpose(1, 2) for x, side in ((q, queries), (k, keys), (v, keys)))  # [B, H, L, D]
    dense_mask = padded_mask(mask, relative is not None)
    if dense_mask is None:
        out = F.scaled_dot_product_attention(q, k, v, is_causal=mask.causal)
        return unpad(out.transpose(1, 2), queries)
    if relative is not None:
        bias = _bias(q, relative, queries, keys)  # [B, H, T, S]
        dense_mask = bias.masked_fill(~dense_mask, -torch.inf)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=dense_mask)
    return unpad(out.transpose(1, 2), queries)


def padded_mask(mask: AttentionMask, relative: bool) -> Tensor | None:
    """The mask [B, 1, T, S], computed once per mask; None if PyTorch's kernels need none.

    In causal self-attention padding keys are out of sight anyway: they come after every real query."""
    plain = not mask.same_sentence and mask.window is None and not relative
    if plain and (mask.keys.is_rectangular or (mask.causal and mask.queries is mask.keys)):
        return None
    return mask.cached("mask", lambda: _dense_mask(mask))


def _dense_mask(mask: AttentionMask) -> Tensor:
    """[B, 1, T, S]. Rows of padding queries see key 0, so that their softmax is defined; they are dropped."""
    queries, keys = mask.queries, mask.keys
    device = queries.offsets.device
    i = torch.arange(queries.longest, device=device)[:, None]
    j = torch.arange(keys.longest, device=device)[None, :]
    dense_mask = j < keys.lengths[:, None, None]  # [B, 1, S]
    if mask.causal:
        dense_mask = dense_mask & (j <= i)
    if mask.same_sentence:
        dense_mask = dense_mask & _same_sentence(mask)
    if mask.window is not None:
        center = i[None] if mask.center is None else pad(mask.center, queries)[:, :, None]
        dense_mask = dense_mask & ((j - center).abs() <= mask.window)
    if mask.focused is not None:
        own = dense_mask & _same_sentence(mask)
        dense_mask = torch.where(pad(mask.focused, queries)[:, :, None] & own.any(2, keepdim=True), own, dense_mask)
    padding = i >= queries.lengths[:, None, None]  # [B, T, 1]
    return (dense_mask | (padding & (j == 0))).unsqueeze(1)


def _same_sentence(mask: AttentionMask) -> Tensor:
    """[B, T, S]"""
    queries, keys = mask.queries, mask.keys
    return pad(queries.sentence, queries)[:, :, None] == pad(keys.sentence, keys)[:, None, :]


def _relative_bias(q: Tensor, relative: Relative, queries: Layout, keys: Layout) -> Tensor:
    term: Tensor = torch.einsum("bhtd,rhd->bhtr", q, relative.table.to(q.dtype)) * q.shape[-1] ** -0.5
    device = q.device
    distance = torch.arange(queries.longest, device=device)[:, None] - torch.arange(keys.longest, device=device)
    index = relative.index(distance).expand(*term.shape[:2], -1, -1)
    return term.gather(-1, index)


_bias = _relative_bias


def keep_eager() -> None:
    """Before a model is compiled: leave out what must not be. With dynamic shapes PyTorch 2.11 keeps the strides of
    the first batch's index for the backward pass. (A decorator would import the compiler, which takes a second, for
    translation as well.)"""
    global _bias
    _bias = torch.compiler.disable(_relative_bias)  # type: ignore[no-untyped-call]


DENSE = Backend(dense_attention, precompute=lambda q, mask, relative: padded_mask(mask, relative), in_auto=everywhere)
