"""Searches with the compiled library find what PyTorch finds in double precision, for every kind of model."""

from __future__ import annotations

import ctypes
import gc
import signal
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from fenster.data.dataset import PreparedData
from fenster.data.tokenizer import Tokenizer
from fenster.decode.config import DecodeConfig
from fenster.decode.cross_attention import cross_attention, heat
from fenster.decode.search import (
    ControlSymbols,
    Hypothesis,
    LengthConstraints,
    Searcher,
    SearchRequest,
    SharedContext,
)
from fenster.decode.search.compiled import CompiledSearcher
from fenster.decode.search.pytorch.searcher import PytorchSearcher
from fenster.decode.strategies.sequential import Prefix, SequentialStrategy
from fenster.decode.translator import Translator
from fenster.document import Document
from fenster.errors import FensterError
from fenster.io.native_library import library, required_library
from fenster.model.attention.alignment import decoding_alignments
from fenster.model.compiled.conversion import compiled
from fenster.model.config import ModelConfig
from fenster.model.model_folder import LoadedModel
from fenster.model.transformer import Transformer
from tests.decode.test_protected import symbols
from tests.helpers.data import pair
from tests.helpers.models import KINDS, as_compiled, make_loaded
from tests.helpers.native import INSTRUCTIONS, PLAIN, instructions
from tests.helpers.searches import sentences, some_requests

__all__ = ["symbols"]  # a fixture

pytestmark = pytest.mark.skipif(library() is None, reason="not compiled: no C++ compiler")
Found = list[list[Hypothesis]]


def both(loaded: LoadedModel, requests: list[SearchRequest], **settings: Any) -> tuple[Found, Found]:
    """Hypotheses of the compiled library, and of PyTorch."""
    config = DecodeConfig(**settings)
    network = compiled(loaded.model, int8=False)
    return CompiledSearcher(network, config).search(requests), PytorchSearcher(loaded.model, config).search(requests)


def assert_same(found: Found, wanted: Found) -> None:
    assert [[(one.ids, one.capped) for one in few] for few in found] == [
        [(one.ids, one.capped) for one in few] for few in wanted
    ]
    for field in ("logprob", "score"):
        made, expected = ([getattr(one, field) for few in side for one in few] for side in (found, wanted))
        assert made == pytest.approx(expected, rel=1e-4)


def assert_identical(found: Found, wanted: Found) -> None:
    """To the last bit."""
    assert found == wanted


@pytest.mark.parametrize("beam", [1, 4, 9])
def test_it_finds_what_pytorch_finds(loaded: LoadedModel, toy: PreparedData, beam: int) -> None:
    assert_same(*both(loaded, some_requests(toy), beam=beam, normalisation=0.8))


@pytest.mark.parametrize("alignment", decoding_alignments())
@pytest.mark.parametrize("focus", [False, True])
@pytest.mark.parametrize("kind", ["window", "window-absolute"])
def test_every_alignment(toy: PreparedData, kind: str, alignment: str, focus: bool) -> None:
    loaded = make_loaded(toy, kind)
    assert_same(*both(loaded, some_requests(toy), beam=3, alignment=alignment, focus=focus))


@pytest.mark.parametrize(
    "changes",
    [
        {"norm": "pre"},
        {"norm": "pre", "attention": {"kind": "window", "window": 4}, "positions": "relative"},
        {"heads": 2, "decoder_layers": 1},
        {"encoder_layers": 5, "attention": {"kind": "window", "window": 2}},
    ],
    ids=str,
)
def test_other_shapes(toy: PreparedData, changes: dict[str, Any]) -> None:
    loaded = make_loaded(toy, "concat")
    torch.manual_seed(3)
    config = ModelConfig.model_validate({**loaded.model.config.model_dump(), **changes})
    model = Transformer(config, len(toy.tokenizer), 0.95).double().eval()
    with torch.no_grad():
        model.embedding.weight.mul_(4)
    other = LoadedModel(loaded.description.model_copy(update={"model": config}), model, toy.tokenizer)
    assert_same(*both(other, some_requests(toy), beam=4))


def test_a_model_of_few_words(toy: PreparedData) -> None:
    """Fewer words than candidates."""
    loaded = make_loaded(toy, "window")
    torch.manual_seed(0)
    model = Transformer(loaded.model.config, 11).double().eval()
    with torch.no_grad():
        model.embedding.weight.mul_(4)
    requests = [SearchRequest([np.array([7, 8, 9])], (), LengthConstraints((3,), stop_at_separator=True))]
    assert_same(*both(LoadedModel(loaded.description, model, toy.tokenizer), requests, beam=8))


@pytest.mark.parametrize("beam", [1, 3])
def test_placeholders_and_banned_words(beam: int) -> None:
    """Each placeholder comes once, in its own sentence, even if the limit is too short; banned words never come."""
    torch.manual_seed(0)
    config = ModelConfig(encoder_layers=1, decoder_layers=1, d_model=32, ffn=64, heads=2)
    model = Transformer(config, 80).double().eval()
    with torch.no_grad():
        model.embedding.weight.mul_(4)
    symbols, settings = ControlSymbols(20, range(6, 16)), DecodeConfig(beam=beam)
    one, two, three = np.array([7, 30, 9, 15]), np.array([8, 30]), np.array([40, 41])
    requests = [
        SearchRequest([one, two, three], (), LengthConstraints((6, 3, 3))),
        SearchRequest([two, one], [np.array([33])], LengthConstraints((1,), min_tokens=1, stop_at_separator=True)),
        SearchRequest([three], (), LengthConstraints((6,), min_tokens=1)),
        SearchRequest([one], (), LengthConstraints((9,), min_tokens=4, stop_at_separator=True), banned=range(25, 60)),
        SearchRequest([one, two], (), LengthConstraints((4, 4), forced_count=False)),
    ]
    found = CompiledSearcher(compiled(model, int8=False), settings, symbols).search(requests)
    assert_same(found, PytorchSearcher(model, settings, symbols).search(requests))
    assert not any(id in range(25, 60) for one_of in found[3] for id in one_of.ids)
    for hypothesis in found[0]:
        separators = [at for at, id in enumerate(hypothesis.ids) if id in (3, 4)]
        parts = np.split(np.array(hypothesis.ids), np.array(separators))
        assert [{int(id) for id in part if id in symbols.placeholders} for part in parts[:-1]] == [
            {7, 9, 15},
            {8},
            set(),
        ]


def grown(
    searcher: CompiledSearcher, strategy: SequentialStrategy, source: list[Any], shared: SharedContext | None
) -> Found:
    """The searches of a document, sentence by sentence."""
    prefix, made = Prefix(list(source)), []
    for _ in source:
        request = strategy.request(prefix, first=0, bod=False)
        made += searcher.search([replace(request, shared=shared)])
        prefix.add(np.array(made[-1][0].ids[:-1], dtype=np.uint16))
    return made


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("kind", list(KINDS))
def test_what_a_document_remembers_changes_nothing(toy: PreparedData, kind: str, int8: bool) -> None:
    """Encoder states that are kept, and those that are left out: the same bits as encoding everything again."""
    loaded = make_loaded(toy, kind)
    config = DecodeConfig(beam=2, length_ratio=1.0, length_extra=2, strategy="sequential")
    network = compiled(loaded.model, int8=int8)
    strategy, source = SequentialStrategy(as_compiled(loaded), config), sentences(toy, 14)
    plain = CompiledSearcher(network, config)
    plain.trims_source = False
    wanted = grown(plain, strategy, source, None)
    assert_identical(grown(CompiledSearcher(network, config), strategy, source, None), wanted)
    assert_identical(grown(CompiledSearcher(network, config), strategy, source, SharedContext(0)), wanted)


def test_memories_of_documents_do_not_mix(toy: PreparedData) -> None:
    """Taking turns, with sentences that change on the way; what documents that have gone had is freed."""
    loaded = make_loaded(toy, "window")
    searcher = CompiledSearcher(compiled(loaded.model, int8=False), DecodeConfig(beam=2))
    documents = {SharedContext(0): sentences(toy, 6, 10 * n) for n in range(4)}
    limits = LengthConstraints((7,), stop_at_separator=True)
    for number in range(6):
        for n, (shared, source) in enumerate(documents.items()):
            request = SearchRequest(source[: number + 1], sentences(toy, number, 60), limits)
            (alone,) = searcher.search([request])
            assert searcher.search([replace(request, shared=shared)]) == [alone]
            other = replace(request, source=[*source[:number], sentences(toy, 1, 90 + n)[0]])
            assert searcher.search([replace(other, shared=shared)]) == searcher.search([other])
    assert len(searcher._memories) == 4
    # Threads divide requests among them; those of one document stay together.
    requests = [
        SearchRequest(source, sentences(toy, 3, 60 + n), limits, shared=shared)
        for n, (shared, source) in enumerate(documents.items())
        for source in (source[:4], source[:4])
    ]
    wanted = [found for request in requests for found in searcher.search([replace(request, shared=None)])]
    searcher.network.threads = 3
    assert searcher.search(requests) == wanted
    del documents, shared, requests, request, other
    gc.collect()
    assert not searcher._memories


@pytest.mark.parametrize("int8", [False, True])
def test_memory_of_a_document_stays_small(toy: PreparedData, int8: bool) -> None:
    loaded = make_loaded(toy, "window")
    config = DecodeConfig(beam=1, length_ratio=1.0, length_extra=1)
    searcher = CompiledSearcher(compiled(loaded.model, int8=int8), config)
    strategy, sizes = SequentialStrategy(as_compiled(loaded), config), []
    prefix, shared = Prefix(sentences(toy, 90)), SharedContext(0)
    for _ in range(90):
        request = strategy.request(prefix, first=0, bod=False)
        found = searcher.search([replace(request, shared=shared)])
        prefix.add(np.array(found[0][0].ids[:-1], dtype=np.uint16))
        sizes.append(required_library().fenster_memory_bytes(searcher._memories[shared].address))
    assert 0 < max(sizes[60:]) <= 1.5 * max(sizes[20:50])


def test_results_leave_no_types_behind(toy: PreparedData) -> None:
    """ctypes keeps every type of array for ever: one for each length of a result would add up."""
    network, requests = compiled(make_loaded(toy, "window").model, int8=True), some_requests(toy)
    CompiledSearcher(network, DecodeConfig(beam=1)).search(requests)
    known = len(ctypes.Array.__subclasses__())
    for beam in (2, 3, 4, 5):
        CompiledSearcher(network, DecodeConfig(beam=beam)).search(requests)
    assert len(ctypes.Array.__subclasses__()) == known


@pytest.mark.parametrize("int8", [False, True])
def test_threads_company_and_vectors_change_nothing(toy: PreparedData, int8: bool) -> None:
    network = compiled(make_loaded(toy, "window").model, int8=int8)
    searcher, requests = CompiledSearcher(network, DecodeConfig(beam=4)), some_requests(toy)
    wanted = searcher.search(requests)
    for network.threads in (2, 3, 7):
        assert_identical(searcher.search(requests), wanted)
        assert_identical(searcher.search(requests[::-1])[::-1], wanted)
        assert_identical(searcher.search(requests[:2]), wanted[:2])
    assert_identical([searcher.search([request])[0] for request in requests], wanted)
    for kind in INSTRUCTIONS[1:]:
        with instructions(kind):
            assert_identical(searcher.search(requests), wanted)
    with instructions(PLAIN):
        assert_same(searcher.search(requests), wanted)


def test_int8_is_close(toy: PreparedData) -> None:
    loaded = make_loaded(toy, "window", sharpness=1.0)
    requests = some_requests(toy)
    full, small = (
        CompiledSearcher(compiled(loaded.model, int8=int8), DecodeConfig(beam=1)).search(requests)
        for int8 in (False, True)
    )
    rates = [[few[0].score for few in side] for side in (full, small)]
    assert rates[0] != rates[1] and np.abs(np.array(rates[0]) - rates[1]).max() < 0.2


def test_terms(toy: PreparedData, symbols: Tokenizer) -> None:
    """Grid search over the steps of either way of computing, with one reading of the source and with two."""
    torch.manual_seed(5)
    loaded = make_loaded(toy, "window")
    model = Transformer(loaded.model.config, len(symbols), 0.95).double().eval()
    with torch.no_grad():
        model.embedding.weight.mul_(4)
    config, joins = DecodeConfig(beam=4), symbols.joins_word
    limits = LengthConstraints((9,), min_tokens=1, stop_at_separator=True)
    first, second = (symbols.encode_each([text])[0] for text in ("Here is the lamp.", "Here is a lamp."))
    forms: list[list[tuple[int, ...]]] = [[(30, 31), (30, 32, 33)], [(40,)]]
    readings = [SearchRequest([ids], (), limits, terms=forms) for ids in (first, second)]
    ways: list[Searcher] = [
        CompiledSearcher(compiled(model, int8=False), config, None, joins),
        PytorchSearcher(model, config, None, joins),
    ]
    for chosen in (readings[:1], readings):
        found, wanted = (way.search_terms(chosen) for way in ways)
        assert found and all(40 in one.ids and 30 in one.ids for one in found)
        assert_same([found], [wanted])


@pytest.mark.parametrize("kind", list(KINDS))
def test_attention_maps(toy: PreparedData, kind: str) -> None:
    loaded = make_loaded(toy, kind)
    small = as_compiled(loaded)
    source, target = sentences(toy, 2)
    found, wanted = (cross_attention(model, source, target) for model in (small, loaded))
    assert found.shape == (len(target), len(source))
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    document = pair("d", *((f"Here is the lamp {n}.", f"Hier ist die Lampe {n}.") for n in range(12)))
    (one, other) = (heat(model, document, 7) for model in (small, loaded))
    assert (one.source, one.first, one.last, one.target) == (other.source, other.first, other.last, other.target)
    np.testing.assert_allclose(one.weights, other.weights, atol=2e-4)


def test_nan_is_reported(toy: PreparedData) -> None:
    loaded = make_loaded(toy, "window")
    with torch.no_grad():
        loaded.model.decoder_layers()[0].around_ffn.norm.weight.fill_(1e38)
    for int8 in (False, True):
        searcher = CompiledSearcher(compiled(loaded.model, int8=int8), DecodeConfig())
        with pytest.raises(FensterError, match="produced NaN"):
            searcher.search(some_requests(toy))


def test_what_does_not_fit_together_is_searched_in_halves(toy: PreparedData, monkeypatch: pytest.MonkeyPatch) -> None:
    network, requests = compiled(make_loaded(toy, "window").model, int8=True), some_requests(toy)
    wanted = CompiledSearcher(network, DecodeConfig(beam=2)).search(requests)
    search, sizes = CompiledSearcher._search, []

    def small(self: CompiledSearcher, few: Any) -> Found:
        sizes.append(len(few))
        if len(few) > 2:
            raise MemoryError
        return search(self, few)

    monkeypatch.setattr(CompiledSearcher, "_search", small)
    assert_identical(CompiledSearcher(network, DecodeConfig(beam=2)).search(requests), wanted)
    assert max(sizes) == len(requests)
    monkeypatch.setattr(CompiledSearcher, "_search", lambda *_: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(FensterError, match="out of memory in a single search"):
        CompiledSearcher(network, DecodeConfig(beam=2)).search(requests[:1])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_a_long_search_can_be_interrupted(toy: PreparedData) -> None:
    network = compiled(make_loaded(toy, "concat").model, int8=False)
    endless = SearchRequest(
        sentences(toy, 1), (), LengthConstraints((4000,), min_tokens=4000, stop_at_separator=True)
    )

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            CompiledSearcher(network, DecodeConfig(beam=8)).search([endless])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("int8", [False, True])
def test_documents(loaded: LoadedModel, int8: bool) -> None:
    """Whole documents: one segment out for each in, side by side as alone."""
    small = as_compiled(loaded, int8=int8)
    texts = ["Hi, Anna.", "", "Are you tired?", "It is old. " * 9, "tab\tand\x07bell", "你好。"]
    documents = [Document.of(str(n), texts[n:] + texts[:n]) for n in range(4)]
    settings: dict[str, Any] = {"beam": 2, "guards": False, "length_ratio": 1.0, "length_extra": 4}
    together = list(Translator(small, DecodeConfig(batch_size=4, **settings)).translate_all(documents))
    for document, result in zip(documents, together, strict=True):
        alone = Translator(small, DecodeConfig(batch_size=1, **settings)).translate(document)
        assert len(result.segments) == len(texts)
        assert [one.text == "" for one in result.segments] == [not text for text in document.texts]
        assert [(one.text, one.score) for one in result.segments] == [(one.text, one.score) for one in alone.segments]
