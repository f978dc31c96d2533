"""Every computation equals the dense float reference: values and gradients, at edges, ragged, any alignment."""

import sys
from dataclasses import replace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fenster.model.align import ALIGNMENTS
from fenster.model.compute import COMPUTE, choose
from fenster.model.compute.block import block
from fenster.model.compute.dense import dense
from fenster.model.compute.reference import reference, weights
from fenster.model.packed import Packed, pad, unpad
from fenster.model.pattern import Pattern, Relative
from tests.model.cases import HEADS, SENTENCES, SIZE, assert_same, make_pattern, tensors

EXACT = {"rtol": 1e-9, "atol": 1e-10}  # in float64
WINDOWED = ["dense", "gather", "block"]  # the kernel, which has no float64, has tests of its own


@pytest.fixture(autouse=True, params=[2048, 50], ids=["whole", "chunks"])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """`block` computes some rows at a time; short chunks bring their borders into small tests."""
    monkeypatch.setattr(sys.modules["fenster.model.compute.block"], "CHUNK", request.param)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=4),
    st.sampled_from(["encoder", "decoder", "cross"]),
    st.integers(0, 40),
    st.sampled_from([*ALIGNMENTS, "random"]),
    st.booleans(),
    st.integers(0, 1000),
)
def test_windows_equal_the_reference(
    lengths: list[tuple[list[int], list[int]]], kind: str, window: int, centers: str, relative: bool, seed: int
) -> None:
    sides = [[pair[side] for pair in lengths] for side in (0, 1)]
    sides = [[(a * 9)[: len(b)] for a, b in zip(sides[0], sides[1], strict=True)], sides[1]]
    source, target = (Packed.of_sentences(side) for side in sides)
    pattern = make_pattern(kind, source, target, window, centers, seed)
    if kind == "cross" and seed % 2:  # some queries keep to their own sentence
        focused = torch.rand(target.tokens, generator=torch.Generator().manual_seed(seed)) < 0.5
        pattern = replace(pattern, focused=focused)
    inputs = tensors(pattern, relative and kind != "cross", seed)
    for name in WINDOWED:
        assert_same(COMPUTE[name], reference, pattern, inputs, **EXACT)


@pytest.mark.parametrize("name", WINDOWED)
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
    pattern = make_pattern(kind, Packed.of_sentences(source), Packed.of_sentences(target), window, centers, 1)
    assert_same(COMPUTE[name], reference, pattern, tensors(pattern, kind != "cross", 2), **EXACT)


def test_an_alignment_that_jumps_back_across_the_whole_source() -> None:
    """A block with windows at both ends of the source goes the gather way; its neighbours do not."""
    source, target = Packed.of_sentences([[400]]), Packed.of_sentences([[400]])
    center = torch.arange(400)
    center[130:140] = torch.tensor([399, 0] * 5)
    pattern = Pattern(target, source, window=6, center=center)
    assert_same(block, reference, pattern, tensors(pattern, False, 3), **EXACT)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("same_sentence", [False, True])
@pytest.mark.parametrize("relative", [False, True])
def test_dense_patterns_equal_the_reference(causal: bool, same_sentence: bool, relative: bool) -> None:
    side = Packed.of_sentences([[3, 4, 1], [2], [5, 5]])
    pattern = Pattern(side, side, causal=causal, same_sentence=same_sentence)
    assert_same(dense, reference, pattern, tensors(pattern, relative, 4, reach=3), **EXACT)


def test_dense_cross_attention_of_ragged_sequences() -> None:
    pattern = Pattern(Packed.of_sentences([[3], [9]]), Packed.of_sentences([[7, 2], [1]]))
    assert_same(dense, reference, pattern, tensors(pattern, False, 5), **EXACT)


@pytest.mark.parametrize("name", ["gather", "block", "dense"])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_window_wider_than_the_sequence_is_vanilla_attention(name: str, kind: str) -> None:
    source, target = Packed.of_sentences([[37], [12]]), Packed.of_sentences([[29], [45]])
    wide = make_pattern(kind, source, target, 50, "linear", 0)
    vanilla = Pattern(wide.queries, wide.keys, causal=wide.causal)
    inputs = tensors(vanilla, False, 6)
    torch.testing.assert_close(
        COMPUTE[name](*inputs, wide, None),
        reference(*inputs, vanilla, None),
        **EXACT,  # type: ignore[call-arg]
    )


def test_lst_with_one_sentence_has_two_equal_branches() -> None:
    side = Packed.of_sentences([[6], [9]])
    whole, restricted = (Pattern(side, side, causal=True, same_sentence=same) for same in (False, True))
    inputs = tensors(whole, False, 7)
    torch.testing.assert_close(dense(*inputs, whole, None), dense(*inputs, restricted, None))  # type: ignore[call-arg]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["gather", "block", "dense"])
def test_lower_precision_stays_near(name: str, dtype: torch.dtype) -> None:
    side = Packed.of_sentences([[90], [31]])
    pattern = Pattern(side, side, causal=True, window=8)
    inputs = [x.detach().to(dtype) for x in tensors(pattern, True, 8)]
    out = COMPUTE[name](inputs[0], inputs[1], inputs[2], pattern, Relative(inputs[3]))
    wanted = reference(*(x.float() for x in inputs[:3]), pattern, Relative(inputs[3].float()))  # type: ignore[call-arg]
    assert out.dtype == dtype
    error = (out.float() - wanted).norm() / wanted.norm()
    assert error < {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}[dtype]


def test_weights_are_zero_where_nothing_may_be_seen_and_sum_to_one() -> None:
    source, target = Packed.of_sentences([[9], [4]]), Packed.of_sentences([[6], [8]])
    pattern = make_pattern("cross", source, target, 2, "linear", 0)
    q, k, _ = tensors(pattern, False, 9)
    seen = weights(q, k, pattern, None)
    assert seen.shape == (HEADS, 14, 13)
    assert (seen[:, ~pattern.allowed()] == 0).all()
    torch.testing.assert_close(seen.sum(-1), torch.ones(HEADS, 14, dtype=seen.dtype))


def test_relative_positions_carry_no_absolute_signal() -> None:
    """Shift-equivariance: the same content further on gives the same output, in the interior."""
    side = Packed.of_sentences([[120]])
    pattern = Pattern(side, side, window=5)
    q, k, v, table = (x.detach() for x in tensors(pattern, True, 10))
    shift = 17
    moved = [x.roll(shift, 0) for x in (q, k, v)]
    out, after = (block(*x, pattern, Relative(table)) for x in ((q, k, v), moved))
    interior = slice(5, 120 - shift - 5)
    torch.testing.assert_close(out[interior], after.roll(-shift, 0)[interior])


def test_causal_cross_shaped_patterns_in_dense() -> None:
    pattern = Pattern(Packed.of_sentences([[5], [5]]), Packed.of_sentences([[3], [5]]), causal=True)
    assert_same(dense, reference, pattern, tensors(pattern, False, 11), **EXACT)


def test_what_has_no_meaning_is_refused() -> None:
    side = Packed.of_sentences([[4]])
    with pytest.raises(ValueError, match="own place only"):
        Pattern(side, side, causal=True, window=1, center=torch.arange(4))
    with pytest.raises(ValueError, match="at least one token"):
        Packed.of_sentences([[4], [0]])
    with pytest.raises(ValueError, match="at least one sequence"):
        Packed.of_sentences([])


def test_a_far_too_wide_window_costs_no_more_than_the_sequence() -> None:
    side = Packed.of_sentences([[50]])
    assert Pattern(side, side, window=10**9).window == 64
    assert Pattern(side, side, window=20).window == 20


def test_second_derivatives_of_block_are_refused_rather_than_zero() -> None:
    side = Packed.of_sentences([[40]])
    pattern = Pattern(side, side, window=3)
    q, k, v = tensors(pattern, False, 12)
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(block(q, k, v, pattern, None).square().sum(), q, create_graph=True)


def test_block_refuses_relative_positions_in_cross_attention() -> None:
    pattern = make_pattern("cross", Packed.of_sentences([[4]]), Packed.of_sentences([[4]]), 2, "linear", 0)
    q, k, v = tensors(pattern, False, 0)
    with pytest.raises(ValueError, match="self-attention only"):
        block(q, k, v, pattern, Relative(torch.zeros(5, HEADS, SIZE)))


def test_windows_go_to_block_and_the_rest_to_dense() -> None:
    side = Packed.of_sentences([[4]])
    q = torch.zeros(4, HEADS, SIZE)
    assert choose("auto", Pattern(side, side, window=3), q, True) == "block"
    assert choose("auto", Pattern(side, side), q, False) == "dense"
    assert choose("gather", Pattern(side, side), q, False) == "dense"
    assert choose("reference", Pattern(side, side), q, False) == "reference"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(1, 7), min_size=1, max_size=5))
def test_pad_and_unpad_are_inverse(lengths: list[int]) -> None:
    packed = Packed.of_sentences([[length] for length in lengths])
    x = torch.randn(sum(lengths), 3)
    padded = pad(x, packed)
    assert padded.shape == (len(lengths), max(lengths), 3)
    assert torch.equal(unpad(padded, packed), x)
    assert padded.abs().sum() == pytest.approx(x.abs().sum().item(), rel=1e-5)
