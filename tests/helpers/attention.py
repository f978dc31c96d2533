"""Random packed sequences, patterns and alignments for the attention tests."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch
from hypothesis import strategies as st
from torch import Tensor

from fenster.model.attention.alignment import ALIGNMENTS
from fenster.model.attention.backends.base import Attend
from fenster.model.attention.mask import AttentionMask, Relative
from fenster.model.layout import Layout

HEADS, SIZE = 2, 8
SENTENCES = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def random_centers(source: Layout, target: Layout, kind: str, seed: int) -> Tensor:
    """Centers that any alignment could give, and some that none does: jumps forward and back."""
    if kind in ALIGNMENTS:
        return ALIGNMENTS[kind](1.3).whole(source, target)
    generator = torch.Generator().manual_seed(seed)
    share = torch.rand(target.tokens, generator=generator)
    return (share.to(source.offsets.device) * source.lengths[target.sequence_id]).long()


def make_mask(kind: str, source: Layout, target: Layout, window: int, centers: str, seed: int) -> AttentionMask:
    """`encoder`, `decoder` or `cross` windows."""
    if kind == "encoder":
        return AttentionMask(source, source, window=window)
    if kind == "decoder":
        return AttentionMask(target, target, causal=True, window=window)
    return AttentionMask(target, source, window=window, center=random_centers(source, target, centers, seed))


def tensors(mask: AttentionMask, relative: bool, seed: int, reach: int | None = None) -> list[Tensor]:
    """q, k, v and perhaps a table, in double precision so that equality means equality."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64, requires_grad=True)

    made = [draw(side.tokens, HEADS, SIZE) for side in (mask.queries, mask.keys, mask.keys)]
    if relative:
        found = mask.window if reach is None else reach
        assert found is not None
        made.append(draw(2 * found + 1, HEADS, SIZE))
    return made


@st.composite
def window_masks(draw: st.DrawFn) -> tuple[str, AttentionMask, int]:
    """(encoder, decoder or cross; a mask with a window for it; a seed). In cross-attention of odd seeds some queries
    keep to their own sentence."""
    pairs = draw(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=4))
    kind, window = draw(st.sampled_from(["encoder", "decoder", "cross"])), draw(st.integers(0, 40))
    centers, seed = draw(st.sampled_from([*ALIGNMENTS, "random"])), draw(st.integers(0, 1000))
    sides = [[(ours * 9)[: len(theirs)] for ours, theirs in pairs], [theirs for _, theirs in pairs]]
    source, target = (Layout.from_sentence_lengths(side) for side in sides)
    mask = make_mask(kind, source, target, window, centers, seed)
    if kind == "cross" and seed % 2:
        focused = torch.rand(target.tokens, generator=torch.Generator().manual_seed(seed)) < 0.5
        mask = replace(mask, focused=focused)
    return kind, mask, seed


def values_and_gradients(compute: Attend, mask: AttentionMask, inputs: list[Tensor]) -> list[Tensor]:
    """The output, and the gradient of a random projection of it to every input."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    relative = Relative(leaves[3]) if len(leaves) == 4 else None
    out = compute(leaves[0], leaves[1], leaves[2], mask, relative)
    direction = torch.randn(out.shape, generator=torch.Generator().manual_seed(0)).to(out)
    gradients = torch.autograd.grad((out * direction).sum(), leaves, allow_unused=True)
    return [
        out.detach(),
        *(torch.zeros_like(x) if g is None else g for g, x in zip(gradients, leaves, strict=True)),
    ]


def assert_same(
    compute: Attend, oracle: Attend, mask: AttentionMask, inputs: list[Tensor], **tolerance: float
) -> None:
    names = ("out", "dq", "dk", "dv", "dr")
    found, wanted = values_and_gradients(compute, mask, inputs), values_and_gradients(oracle, mask, inputs)
    for name, a, b in zip(names, found, wanted, strict=False):
        assert torch.isfinite(a).all(), f"{name} is not finite"
        torch.testing.assert_close(a, b, msg=partial("{}: {}".format, name), **tolerance)  # type: ignore[arg-type]
