"""Full attention without padding equals the reference. Flash kernels run on a GPU only; CI tests the way to them."""

from dataclasses import replace

import pytest
import torch

from fenster.errors import FensterError
from fenster.model import Packed
from fenster.model.compute import choose
from fenster.model.compute.reference import reference
from fenster.model.compute.varlen import available, ready, varlen
from fenster.model.pattern import Pattern
from tests.model.cases import values_and_gradients

LENGTHS = [[4, 30, 5], [2], [70, 6]]


def test_where_sequences_and_sentences_begin() -> None:
    side = Packed.of_sentences(LENGTHS)
    whole = Pattern(side, side)
    assert ready(whole)[0].tolist() == [0, 39, 41, 117]
    inside = replace(whole, same_sentence=True)
    begins = ready(inside)[0]
    assert begins.diff().min() >= 0 and begins[-1] == side.tokens
    assert begins.unique().tolist() == [0, 4, 34, 39, 41, 111, 117]
    assert ready(whole)[0].tolist() == [0, 39, 41, 117], "two patterns do not share what they found"


@pytest.mark.parametrize(("same_sentence", "longest"), [(False, 76), (True, 70)])
def test_kernels_hear_how_long_sequences_or_sentences_are(
    monkeypatch: pytest.MonkeyPatch, same_sentence: bool, longest: int
) -> None:
    """What is longer than they hear they would leave out; what they hear too much costs time."""
    heard: list[int] = []

    def flash(q: torch.Tensor, *arguments: object, **_: object) -> torch.Tensor:
        heard.extend(number for number in arguments if isinstance(number, int))
        return q

    monkeypatch.setitem(varlen.__globals__, "varlen_attn", flash)
    side = Packed.of_sentences(LENGTHS)
    q = torch.zeros(side.tokens, 2, 32)
    varlen(q, q, q, Pattern(side, side, same_sentence=same_sentence), None)
    assert heard == [longest, longest]


def test_it_is_not_taken_where_it_cannot_run() -> None:
    side = Packed.of_sentences(LENGTHS)
    q = torch.zeros(side.tokens, 2, 32)
    assert not available(q, Pattern(side, side), False)
    assert choose("auto", Pattern(side, side), q, False) == "dense"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="flash kernels need a GPU")
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross", "sentence", "causal sentence"])
@pytest.mark.parametrize("size", [32, 64])
def test_it_equals_the_reference(kind: str, size: int) -> None:
    torch.manual_seed(0)
    source = Packed.of_sentences(LENGTHS, "cuda")
    target = Packed.of_sentences([[9], [3, 3], [64]], "cuda")
    pattern = (
        Pattern(target, source)
        if kind == "cross"
        else Pattern(source, source, causal=kind in ("decoder", "causal sentence"))
    )
    if "sentence" in kind:
        pattern = replace(pattern, same_sentence=True)
    shapes = (pattern.queries.tokens, pattern.keys.tokens, pattern.keys.tokens)
    q, k, v = (torch.randn(tokens, 4, size, device="cuda", dtype=torch.bfloat16) for tokens in shapes)
    assert choose("auto", pattern, q, False) == "varlen"
    found = values_and_gradients(varlen, pattern, [q, k, v])
    wanted = values_and_gradients(reference, pattern, [x.float() for x in (q, k, v)])
    for a, b in zip(found, wanted, strict=True):
        assert float((a.float() - b).norm() / b.norm()) < 1e-2


def test_what_it_cannot_do_is_said() -> None:
    side = Packed.of_sentences(LENGTHS)
    q = torch.zeros(side.tokens, 2, 32)
    for pattern in (Pattern(side, side), Pattern(side, side, window=3)):
        with pytest.raises(FensterError, match="cannot be computed the way `varlen`"):
            choose("varlen", pattern, q, False)
