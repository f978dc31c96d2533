"""Full attention over packed sequences as they lie, through PyTorch's flash kernels: no padding, no masks.

For GPUs and 16-bit numbers, without the relative term. Attention within sentences (LST) is the same with sentences
as the sequences.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.attention.varlen import varlen_attn

from fenster.model.packed import Packed
from fenster.model.pattern import Pattern, Relative

_SIZES = (32, 64, 96, 128, 192, 256)  # head sizes that flash kernels take


def available(q: Tensor, pattern: Pattern, relative: bool) -> bool:
    """Whether a pattern can be computed this way for queries like `q` [T, H, D]."""
    return (
        q.is_cuda
        and q.dtype in (torch.float16, torch.bfloat16)
        and q.shape[-1] in _SIZES
        and not relative
        and (not pattern.same_sentence or pattern.queries is pattern.keys)
    )


def varlen(q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, relative: Relative | None) -> Tensor:
    assert pattern.window is None and relative is None
    starts, key_starts = ready(pattern)
    longest = [
        side.longest_sentence if pattern.same_sentence else side.longest for side in (pattern.queries, pattern.keys)
    ]
    out = varlen_attn(
        q,
        k,
        v,
        starts,
        key_starts,
        *longest,
        window_size=(-1, 0 if pattern.causal else -1),
    )
    assert isinstance(out, Tensor)
    return out


def ready(pattern: Pattern) -> tuple[Tensor, Tensor]:
    """Where sequences (or sentences) of queries and keys begin, int32; computed once a pattern."""
    return pattern.once("bounds", lambda: (_bounds(pattern, pattern.queries), _bounds(pattern, pattern.keys)))


def _bounds(pattern: Pattern, side: Packed) -> Tensor:
    if not pattern.same_sentence:
        return side.offsets.int()
    # Beyond a sequence's last sentence `starts` repeats its length: empty sentences, which cost nothing.
    return (side.offsets[:-1, None] + side.starts).flatten().int()
