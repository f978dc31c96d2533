"""Every computation equals the dense float reference: values and gradients, at edges, ragged, any alignment."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fenster.model.attention.backends import BACKENDS, block, choose
from fenster.model.attention.backends.base import Attend
from fenster.model.attention.backends.block import block_attention
from fenster.model.attention.backends.dense import dense_attention
from fenster.model.attention.backends.reference import reference_attention, weights
from fenster.model.attention.mask import AttentionMask, Relative
from fenster.model.layout import Layout, pad, unpad
from tests.helpers.attention import HEADS, SIZE, assert_same, make_mask, tensors, window_masks

EXACT = {"rtol": 1e-9, "atol": 1e-10}  # in float64


def _exact(window: int | None) -> list[str]:
    """All backends but the oracle that compute a mask in float64; those that cannot have tests of their own."""
    side = Layout.from_sentence_lengths([[4]])
    mask, q = AttentionMask(side, side, window=window), torch.zeros(4, HEADS, SIZE, dtype=torch.float64)
    able = (name for name, backend in BACKENDS.items() if backend.takes(mask) and backend.available(q, mask, False))
    return [name for name in able if name != "reference"]


WINDOWED, FULL = _exact(2), _exact(None)
CHUNKED = [*WINDOWED, "block in chunks"]


@contextmanager
def backend(name: str) -> Iterator[Attend]:
    """`block` computes some rows at a time; short chunks bring their borders into small tests."""
    with pytest.MonkeyPatch.context() as patch:
        if name == "block in chunks":
            patch.setattr(block, "CHUNK", 50)
        yield BACKENDS[name.removesuffix(" in chunks")].attend


@settings(max_examples=60, deadline=None)
@given(window_masks(), st.booleans())
def test_windows_equal_the_reference(drawn: tuple[str, AttentionMask, int], relative: bool) -> None:
    kind, mask, seed = drawn
    inputs = tensors(mask, relative and kind != "cross", seed)
    for name in CHUNKED:
        with backend(name) as attend:
            assert_same(attend, reference_attention, mask, inputs, **EXACT)


@pytest.mark.parametrize("name", CHUNKED)
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize(
    ("source", "target", "window"),
    [
        ([[197]], [[203]], 20),  # several blocks, multiples of nothing
        ([[97], [1], [33]], [[101], [2], [40]], 7),
        ([[300]], [[11]], 5),  # a far longer source: windows of a block lie apart
        ([[3]], [[250]], 20),  # a far shorter one
        ([[64]], [[64]], 0),  # only its own place
        ([[5], [70]], [[6], [66]], 100),  # wider than any sequence
        ([[1]], [[1]], 20),
    ],
)
@pytest.mark.parametrize("centers", ["linear", "random"])
def test_lengths_at_the_edges(
    name: str, kind: str, source: list[list[int]], target: list[list[int]], window: int, centers: str
) -> None:
    mask = make_mask(
        kind, Layout.from_sentence_lengths(source), Layout.from_sentence_lengths(target), window, centers, 1
    )
    with backend(name) as attend:
        assert_same(attend, reference_attention, mask, tensors(mask, kind != "cross", 2), **EXACT)


def test_an_alignment_that_jumps_back_across_the_whole_source() -> None:
    """A block with windows at both ends of the source goes the gather way; its neighbours do not."""
    source, target = Layout.from_sentence_lengths([[400]]), Layout.from_sentence_lengths([[400]])
    center = torch.arange(400)
    center[130:140] = torch.tensor([399, 0] * 5)
    mask = AttentionMask(target, source, window=6, center=center)
    assert_same(block_attention, reference_attention, mask, tensors(mask, False, 3), **EXACT)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("same_sentence", [False, True])
@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("name", FULL)
def test_full_masks_equal_the_reference(name: str, causal: bool, same_sentence: bool, relative: bool) -> None:
    side = Layout.from_sentence_lengths([[3, 4, 1], [2], [5, 5]])
    mask = AttentionMask(side, side, causal=causal, same_sentence=same_sentence)
    assert_same(BACKENDS[name].attend, reference_attention, mask, tensors(mask, relative, 4, reach=3), **EXACT)


def test_dense_cross_attention_of_ragged_sequences() -> None:
    mask = AttentionMask(Layout.from_sentence_lengths([[3], [9]]), Layout.from_sentence_lengths([[7, 2], [1]]))
    assert_same(dense_attention, reference_attention, mask, tensors(mask, False, 5), **EXACT)


@pytest.mark.parametrize("name", WINDOWED)
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_window_wider_than_the_sequence_is_vanilla_attention(name: str, kind: str) -> None:
    source, target = Layout.from_sentence_lengths([[37], [12]]), Layout.from_sentence_lengths([[29], [45]])
    wide = make_mask(kind, source, target, 50, "linear", 0)
    vanilla = AttentionMask(wide.queries, wide.keys, causal=wide.causal)
    q, k, v = tensors(vanilla, False, 6)
    found, wanted = BACKENDS[name].attend(q, k, v, wide, None), reference_attention(q, k, v, vanilla, None)
    torch.testing.assert_close(found, wanted, rtol=EXACT["rtol"], atol=EXACT["atol"])


def test_lst_with_one_sentence_has_two_equal_branches() -> None:
    side = Layout.from_sentence_lengths([[6], [9]])
    whole, restricted = (AttentionMask(side, side, causal=True, same_sentence=same) for same in (False, True))
    q, k, v = tensors(whole, False, 7)
    torch.testing.assert_close(dense_attention(q, k, v, whole, None), dense_attention(q, k, v, restricted, None))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", WINDOWED)
def test_lower_precision_stays_near(name: str, dtype: torch.dtype) -> None:
    side = Layout.from_sentence_lengths([[90], [31]])
    mask = AttentionMask(side, side, causal=True, window=8)
    inputs = [x.detach().to(dtype) for x in tensors(mask, True, 8)]
    out = BACKENDS[name].attend(inputs[0], inputs[1], inputs[2], mask, Relative(inputs[3]))
    q, k, v, table = (x.float() for x in inputs)
    wanted = reference_attention(q, k, v, mask, Relative(table))
    assert out.dtype == dtype
    error = (out.float() - wanted).norm() / wanted.norm()
    assert error < {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}[dtype]


def test_weights_are_zero_where_nothing_may_be_seen_and_sum_to_one() -> None:
    source, target = Layout.from_sentence_lengths([[9], [4]]), Layout.from_sentence_lengths([[6], [8]])
    mask = make_mask("cross", source, target, 2, "linear", 0)
    q, k, _ = tensors(mask, False, 9)
    seen = weights(q, k, mask, None)
    assert seen.shape == (HEADS, 14, 13)
    assert (seen[:, ~mask.allowed()] == 0).all()
    torch.testing.assert_close(seen.sum(-1), torch.ones(HEADS, 14, dtype=seen.dtype))


def test_relative_positions_carry_no_absolute_signal() -> None:
    """Shift-equivariance: the same content further on gives the same output, in the interior."""
    side = Layout.from_sentence_lengths([[120]])
    mask = AttentionMask(side, side, window=5)
    q, k, v, table = (x.detach() for x in tensors(mask, True, 10))
    shift = 17
    moved = [x.roll(shift, 0) for x in (q, k, v)]
    out = block_attention(q, k, v, mask, Relative(table))
    after = block_attention(moved[0], moved[1], moved[2], mask, Relative(table))
    interior = slice(5, 120 - shift - 5)
    torch.testing.assert_close(out[interior], after.roll(-shift, 0)[interior])


def test_causal_cross_shaped_patterns_in_dense() -> None:
    mask = AttentionMask(
        Layout.from_sentence_lengths([[5], [5]]), Layout.from_sentence_lengths([[3], [5]]), causal=True
    )
    assert_same(dense_attention, reference_attention, mask, tensors(mask, False, 11), **EXACT)


def test_what_has_no_meaning_is_refused() -> None:
    side = Layout.from_sentence_lengths([[4]])
    with pytest.raises(ValueError, match="own position only"):
        AttentionMask(side, side, causal=True, window=1, center=torch.arange(4))
    with pytest.raises(ValueError, match="at least one token"):
        Layout.from_sentence_lengths([[4], [0]])
    with pytest.raises(ValueError, match="at least one sequence"):
        Layout.from_sentence_lengths([])


def test_a_far_too_wide_window_costs_no_more_than_the_sequence() -> None:
    side = Layout.from_sentence_lengths([[50]])
    assert AttentionMask(side, side, window=10**9).window == 64
    assert AttentionMask(side, side, window=20).window == 20


def test_second_derivatives_of_block_are_refused_rather_than_zero() -> None:
    side = Layout.from_sentence_lengths([[40]])
    mask = AttentionMask(side, side, window=3)
    q, k, v = tensors(mask, False, 12)
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(block_attention(q, k, v, mask, None).square().sum(), q, create_graph=True)


def test_block_refuses_relative_positions_in_cross_attention() -> None:
    mask = make_mask(
        "cross", Layout.from_sentence_lengths([[4]]), Layout.from_sentence_lengths([[4]]), 2, "linear", 0
    )
    q, k, v = tensors(mask, False, 0)
    with pytest.raises(ValueError, match="self-attention only"):
        block_attention(q, k, v, mask, Relative(torch.zeros(5, HEADS, SIZE)))


def test_windows_go_to_block_and_the_rest_to_dense() -> None:
    side = Layout.from_sentence_lengths([[4]])
    q = torch.zeros(4, HEADS, SIZE)
    assert choose("auto", AttentionMask(side, side, window=3), q, True) is BACKENDS["block"]
    assert choose("auto", AttentionMask(side, side), q, False) is BACKENDS["dense"]
    assert choose("gather", AttentionMask(side, side), q, False) is BACKENDS["dense"]
    assert choose("reference", AttentionMask(side, side), q, False) is BACKENDS["reference"]


@given(st.lists(st.integers(1, 7), min_size=1, max_size=5))
def test_pad_and_unpad_are_inverse(lengths: list[int]) -> None:
    layout = Layout.from_sentence_lengths([[length] for length in lengths])
    x = torch.randn(sum(lengths), 3)
    padded = pad(x, layout)
    assert padded.shape == (len(lengths), max(lengths), 3)
    assert torch.equal(unpad(padded, layout), x)
    assert padded.abs().sum() == pytest.approx(x.abs().sum().item(), rel=1e-5)
