"""A compiled step equals the layers' own, to the bit; and so do the parts that it shares with other layers."""

from copy import deepcopy
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from fenster.data.tokenizer import BOS_ID, SEP_ID
from fenster.decode.search import candidates
from fenster.decode.search.candidates import best_words, best_words_native
from fenster.errors import FensterError
from fenster.io.native_library import library
from fenster.model import Transformer
from fenster.model.decoder_state import DecoderState
from fenster.model.ops import native
from fenster.model.ops.int8_linear import RowwiseInt8Linear
from fenster.model.ops.norm import residual_norm
from fenster.model.quantize import quantized
from tests.helpers.transformers import VARIANTS, make, some_batch

pytestmark = pytest.mark.skipif(library() is None, reason="not compiled: no C++ compiler")
close = partial(torch.testing.assert_close, rtol=1e-5, atol=1e-5)


def begin(model: Transformer) -> DecoderState:
    """Two sources, one hypothesis each, side by side."""
    ids, _, source, _ = some_batch()
    state = model.begin(model.encode(ids, source), source, torch.tensor([0, 1]))
    return DecoderState(state.self_cache, state.cross_cache, state.alignment_state, n_hyps=1)


def run(model: Transformer, n_hyps: int) -> list[torch.Tensor]:
    """Hidden states of some steps in which hypotheses multiply and change places."""
    generator = torch.Generator().manual_seed(2)
    state, made = begin(model), []
    for step in range(9):
        if step == 1:
            state = state.reorder(torch.arange(2).repeat_interleave(n_hyps), n_hyps)
        elif step > 1:
            index = torch.randint(n_hyps, (2, n_hyps), generator=generator) + torch.tensor([[0], [n_hyps]])
            state = state.reorder(index.flatten(), n_hyps)
        count = 2 if step == 0 else 2 * n_hyps
        previous = torch.full((count,), BOS_ID) if step == 0 else torch.randint(6, 40, (count,), generator=generator)
        if step == 4:
            previous[0] = SEP_ID
        hidden, state = model.step(previous, state)
        made.append(hidden)
    return made


@pytest.mark.parametrize("n_hyps", [1, 2, 5])
@pytest.mark.parametrize("variant", [name for name in VARIANTS if not name.startswith("lst")])
def test_a_step_is_that_of_the_layers(variant: str, n_hyps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = quantized(make(variant).float())
    compiled = model.compiled_decoder
    assert compiled is not None
    with torch.inference_mode():
        made = run(model, n_hyps)
        for threads in (1, 3):
            monkeypatch.setattr(native, "threads", threads)
            for found, wanted in zip(run(model, n_hyps), made, strict=True):
                assert torch.equal(found, wanted), "threads change nothing"
        model.compiled_decoder = None
        for found, wanted in zip(made, run(model, n_hyps), strict=True):
            assert torch.equal(found, wanted)


@pytest.mark.parametrize("variant, settings", [("lst", {}), ("window", {"norm": "pre"})])
def test_other_decoders_go_layer_by_layer(variant: str, settings: dict[str, Any]) -> None:
    model = quantized(make(variant, **settings).float())
    with torch.inference_mode():
        assert all(hidden.isfinite().all() for hidden in run(model, 2))


def test_a_copy_has_weights_of_its_own() -> None:
    model = quantized(make("window").float())
    with torch.inference_mode():
        before = run(model, 2)
        twin = deepcopy(model)
        for layer in model.decoder_layers():
            assert isinstance(layer.ffn.up, RowwiseInt8Linear)
            layer.ffn.up.packed.weights.zero_()
        for found, wanted in zip(run(twin, 2), before, strict=True):
            assert torch.equal(found, wanted)
        assert not torch.equal(run(model, 2)[-1], before[-1])


def test_nan_is_reported() -> None:
    model = quantized(make("window").float())
    with torch.inference_mode(), pytest.raises(FensterError, match="NaN"):
        model.decoder_layers()[0].around_ffn.norm.weight.data.fill_(torch.nan)
        run(model, 2)


@pytest.mark.parametrize("size", [1, 7, 16, 64, 515])
def test_a_norm_is_pytorchs(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    norm = nn.LayerNorm(size)
    x, y = torch.randn(900, size) * 3 + 1, torch.randn(900, 2 * size)[:, :size]
    with torch.no_grad():
        norm.weight.copy_(torch.randn(size))
        norm.bias.copy_(torch.randn(size))
        found = residual_norm(x, y, norm)
        close(found, norm(x + y), atol=1e-4)
        monkeypatch.setattr(native, "threads", 3)
        assert torch.equal(residual_norm(x, y, norm), found)
        assert torch.equal(residual_norm(x[5:6], y[5:6], norm), found[5:6]), "a row does not depend on the others"


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 3), st.integers(1, 4), st.integers(10, 200), st.integers(0, 9), st.integers(1, 12),
    st.booleans(), st.booleans(), st.integers(0, 1000),
)  # fmt: skip
def test_the_best_words(
    searches: int, hyps: int, size: int, first: int, count: int, some_banned: bool, plain: bool, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(searches, hyps, size, generator=generator) * 4
    banned = torch.rand(searches, size if some_banned else 0, generator=generator) < 0.3
    count = min(count, size)
    with torch.no_grad():
        values, ids, symbols = best_words_native(logits.clone(), first, banned, count, plain=plain)
        logs = logits.double().log_softmax(-1)
        close(symbols, logs[:, :, :first].float())
        logs[:, :, :first] = -torch.inf
        if some_banned:
            logs.masked_fill_(banned[:, None], -torch.inf)
        wanted = logs.topk(count, -1)
        close(values, wanted.values.float())
        there = values > -torch.inf
        assert torch.equal(ids[there], wanted.indices[there])
        assert bool((ids >= first).all())


@pytest.mark.parametrize("plain", [False, True])
def test_nan_in_logits_is_nan_in_scores(plain: bool) -> None:
    logits = torch.randn(1, 2, 40)
    logits[0, 1, 17] = torch.nan
    with torch.no_grad():
        values, _, _ = best_words_native(logits, 5, torch.zeros(1, 0, dtype=torch.bool), 4, plain=plain)
    assert values[0, 0].isfinite().all() and values[0, 1].isnan().all()


def test_other_devices_and_precisions_go_to_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "best_words_native", lambda *_: pytest.fail("not for float64"))
    with torch.no_grad():
        values, ids, symbols = best_words(torch.randn(1, 2, 40).double(), 5, torch.zeros(1, 0, dtype=torch.bool), 80)
    assert values.shape == ids.shape == (1, 2, 40) and symbols.shape == (1, 2, 5)
