"""Full attention over packed sequences in place, through PyTorch's flash kernels: no padding, no masks.

For GPUs and 16-bit numbers, without the relative term. Attention within sentences (LST) is the same with sentences
as the sequences.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fenster.model.attention.backends.base import Backend, everywhere
from fenster.model.attention.mask import AttentionMask, Relative
from fenster.model.layout import Layout

if torch.cuda.is_available():  # it brings the compiler along, for which a CPU should not wait
    from torch.nn.attention.varlen import varlen_attn

_SIZES = (32, 64, 96, 128, 192, 256)  # head sizes that flash kernels take


def available(q: Tensor, mask: AttentionMask, relative: bool) -> bool:
    """True if it can be computed this way for queries like `q` [T, H, D]."""
    return (
        q.is_cuda
        and q.dtype in (torch.float16, torch.bfloat16)
        and q.shape[-1] in _SIZES
        and not relative
        and (not mask.same_sentence or mask.queries is mask.keys)
    )


def varlen_attention(q: Tensor, k: Tensor, v: Tensor, mask: AttentionMask, relative: Relative | None) -> Tensor:
    assert mask.window is None and relative is None
    starts, key_starts = bounds(mask)
    longest = [side.longest_sentence if mask.same_sentence else side.longest for side in (mask.queries, mask.keys)]
    out = varlen_attn(
        q,
        k,
        v,
        starts,
        key_starts,
        *longest,
        window_size=(-1, 0 if mask.causal else -1),
    )
    assert isinstance(out, Tensor)
    return out


def bounds(mask: AttentionMask) -> tuple[Tensor, Tensor]:
    """Where sequences (or sentences) of queries and keys begin, int32; computed once per mask."""
    return mask.cached("bounds", lambda: (_bounds(mask, mask.queries), _bounds(mask, mask.keys)))


def _bounds(mask: AttentionMask, side: Layout) -> Tensor:
    if not mask.same_sentence:
        return side.offsets.int()
    # Beyond a sequence's last sentence `starts` repeats its length: empty sentences, which cost nothing.
    return (side.offsets[:-1, None] + side.starts).flatten().int()


VARLEN = Backend(
    varlen_attention,
    masks="full",
    available=available,
    precompute=lambda q, mask, relative: bounds(mask),
    requires="a GPU, 16-bit numbers, no windows, no relative positions",
    in_auto=everywhere,
)
