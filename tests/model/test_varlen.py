"""Full attention without padding equals the reference. Flash kernels run on a GPU only; CI tests the way to them."""

from dataclasses import replace

import pytest
import torch

from fenster.errors import FensterError
from fenster.model.attention.backends import BACKENDS, choose
from fenster.model.attention.backends.reference import reference_attention
from fenster.model.attention.backends.varlen import available, bounds, varlen_attention
from fenster.model.attention.mask import AttentionMask
from fenster.model.layout import Layout
from tests.helpers.attention import values_and_gradients

LENGTHS = [[4, 30, 5], [2], [70, 6]]


def test_where_sequences_and_sentences_begin() -> None:
    side = Layout.from_sentence_lengths(LENGTHS)
    whole = AttentionMask(side, side)
    assert bounds(whole)[0].tolist() == [0, 39, 41, 117]
    inside = replace(whole, same_sentence=True)
    starts = bounds(inside)[0]
    assert starts.diff().min() >= 0 and starts[-1] == side.tokens
    assert starts.unique().tolist() == [0, 4, 34, 39, 41, 111, 117]
    assert bounds(whole)[0].tolist() == [0, 39, 41, 117], "two masks do not share what they cache"


@pytest.mark.parametrize(("same_sentence", "longest"), [(False, 76), (True, 70)])
def test_kernels_hear_how_long_sequences_or_sentences_are(
    monkeypatch: pytest.MonkeyPatch, same_sentence: bool, longest: int
) -> None:
    """What is longer than they hear they would leave out; what they hear too much costs time."""
    heard: list[int] = []

    def flash(q: torch.Tensor, *arguments: object, **_: object) -> torch.Tensor:
        heard.extend(number for number in arguments if isinstance(number, int))
        return q

    monkeypatch.setitem(varlen_attention.__globals__, "varlen_attn", flash)
    side = Layout.from_sentence_lengths(LENGTHS)
    q = torch.zeros(side.tokens, 2, 32)
    varlen_attention(q, q, q, AttentionMask(side, side, same_sentence=same_sentence), None)
    assert heard == [longest, longest]


def test_it_is_not_taken_where_it_cannot_run() -> None:
    side = Layout.from_sentence_lengths(LENGTHS)
    q = torch.zeros(side.tokens, 2, 32)
    assert not available(q, AttentionMask(side, side), False)
    assert choose("auto", AttentionMask(side, side), q, False) is BACKENDS["dense"]


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross", "sentence", "causal sentence"])
@pytest.mark.parametrize("size", [32, 64])
def test_it_equals_the_reference(kind: str, size: int) -> None:
    torch.manual_seed(0)
    source = Layout.from_sentence_lengths(LENGTHS, "cuda")
    target = Layout.from_sentence_lengths([[9], [3, 3], [64]], "cuda")
    mask = (
        AttentionMask(target, source)
        if kind == "cross"
        else AttentionMask(source, source, causal=kind in ("decoder", "causal sentence"))
    )
    if "sentence" in kind:
        mask = replace(mask, same_sentence=True)
    shapes = (mask.queries.tokens, mask.keys.tokens, mask.keys.tokens)
    q, k, v = (torch.randn(tokens, 4, size, device="cuda", dtype=torch.bfloat16) for tokens in shapes)
    assert choose("auto", mask, q, False) is BACKENDS["varlen"]
    found = values_and_gradients(varlen_attention, mask, [q, k, v])
    wanted = values_and_gradients(reference_attention, mask, [x.float() for x in (q, k, v)])
    for a, b in zip(found, wanted, strict=True):
        assert float((a.float() - b).norm() / b.norm()) < 1e-2


def test_what_it_cannot_do_is_said() -> None:
    side = Layout.from_sentence_lengths(LENGTHS)
    q = torch.zeros(side.tokens, 2, 32)
    for mask in (AttentionMask(side, side), AttentionMask(side, side, window=3)):
        with pytest.raises(FensterError, match="backend 'varlen' cannot compute this attention"):
            choose("varlen", mask, q, False)
