"""Documents in, documents out: nothing lost, strategies as the paper defines them."""

import gc
import weakref
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fenster.data.batch import PackedSide
from fenster.data.context import DocumentContext, Span
from fenster.data.corpora.synthetic import generate
from fenster.data.dataset import PreparedData
from fenster.data.examples import concatenate
from fenster.data.tokenizer import BOS_ID, EOS_ID, SEP_ID
from fenster.decode.config import DecodeConfig
from fenster.decode.scoring import score, score_in_context
from fenster.decode.search import Searcher, SearchRequest
from fenster.decode.search.pytorch.searcher import PytorchSearcher
from fenster.decode.strategies import STRATEGIES, SourceDocument, SourceSentence
from fenster.decode.strategies.full_segment import fit
from fenster.decode.strategies.sequential import Prefix, SequentialStrategy
from fenster.decode.translator import Translator
from fenster.document import Document
from fenster.errors import ConfigError, FensterError, InputError
from fenster.model.attention.alignment import decoding_alignments
from fenster.model.layout import Layout
from fenster.model.model_folder import LoadedModel
from tests.helpers.models import make_loaded

DOCUMENTS = [generated.pair.source for generated in generate(3, seed=11)]
GERMAN = [generated.pair.target for generated in generate(3, seed=11)]
ODD = [
    "",
    "x",
    "   ",
    "Здравствуйте, мир! 你好。",
    "emoji 👩‍👩‍👧 and \u200d joiners",
    "tab\tand\x07bell",
    "<sep> <eos> \u2581 \ue2b1s",
    "word " * 60,
]


def translator(loaded: LoadedModel, **changes: Any) -> Translator:
    usual = {"beam": 2, "length_ratio": 1.0, "length_extra": 4, "guards": False}  # random weights always look wrong
    return Translator(loaded, DecodeConfig(**(usual | changes)))


WAYS: list[dict[str, Any]] = [
    *({"strategy": name} for name in STRATEGIES),
    {"strategy": "full-segment", "count": "split"},
    {"strategy": "full-segment", "count": "repair"},
    {"strategy": "sequential", "context": 1},
    {"strategy": "sequential", "context": "part", "lookahead": 1},
]


@pytest.mark.slow
@pytest.mark.parametrize("changes", WAYS, ids=str)
def test_one_segment_out_for_each_in(loaded: LoadedModel, changes: dict[str, Any]) -> None:
    result = translator(loaded, **changes).translate(Document.of("odd", ODD))
    assert len(result.segments) == len(ODD)
    assert all(segment.text == "" for segment, text in zip(result.segments, ODD, strict=True) if not text.strip())
    assert result.id == "odd"


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=20), max_size=6))
def test_any_text(toy: PreparedData, texts: list[str]) -> None:
    for kind, strategy in (("window", "sequential"), ("concat", "full-segment")):
        result = translator(make_loaded(toy, kind), strategy=strategy, beam=1).translate(texts)
        assert len(result.segments) == len(texts)


def test_a_very_long_sentence_is_flagged_not_cut(toy: PreparedData) -> None:
    loaded = make_loaded(toy, "window")
    found = translator(loaded, beam=1, length_ratio=0.01, length_extra=3).translate(["word " * 2500, "short"])
    assert len(found.segments) == 2 and found.segments[0].capped
    pieces = 13  # of at most a thousand characters, each with a limit of its own
    tokens = len(toy.tokenizer.encode([("word " * 2500).strip()])[0])
    assert len(found.segments[0].ids) == pytest.approx(pieces - 1 + 0.01 * tokens + 3 * pieces, abs=pieces)
    logits = loaded.model.logits
    end = torch.nn.functional.one_hot(torch.tensor(EOS_ID), len(toy.tokenizer)) * 1000.0
    loaded.model.logits = lambda hidden: logits(hidden) + end  # type: ignore[method-assign]  # ends as soon as it may
    free = translator(loaded).translate(["short"])
    assert not free.segments[0].capped and len(free.segments[0].ids) == 1


@pytest.mark.slow
@pytest.mark.parametrize("stretch", [0.6, 1.0, 1.8], ids=lambda s: f"target {s} times as long")
@pytest.mark.parametrize("alignment", decoding_alignments())
@pytest.mark.parametrize("kind", ["window", "window-absolute"])
def test_what_is_left_out_changes_nothing(toy: PreparedData, kind: str, alignment: str, stretch: float) -> None:
    """Sequential decoding of a long document: with only what is in reach, and with everything encoded again; context
    from the beginning, from the middle, and with `<bod>`."""
    loaded = make_loaded(toy, kind)
    source = toy.tokenizer.encode_each([text for document in DOCUMENTS for text in document.texts][:30])
    rng = np.random.default_rng(1)
    config = DecodeConfig(beam=2, alignment=alignment, length_ratio=1e-9, length_extra=5)
    strategy, searcher = SequentialStrategy(loaded, config), PytorchSearcher(loaded.model, config)
    prefix, forgetting, kept = Prefix(list(source)), Prefix(list(source)), []
    for number, sentence in enumerate(source):
        for first, bod in ((0, False), (0, True), (number // 2, False)):
            near, far = (strategy.request(prefix, first=first, bod=bod, whole=whole) for whole in (False, True))
            if number % 3 == 0 or len(near.source) < len(far.source):
                one, other = (searcher.search([request])[0] for request in (near, far))
                assert [h.ids for h in one] == [h.ids for h in other]
                assert [h.score for h in one] == pytest.approx([h.score for h in other], rel=1e-7)
            if not bod and first == 0:
                kept.append(near.tokens)
                again = strategy.request(forgetting, first=0, bod=False)
                assert [ids.tolist() for ids in again.given] == [ids.tolist() for ids in near.given]
                assert [ids.tolist() for ids in again.source] == [ids.tolist() for ids in near.source]
                forgetting.forget(number - len(again.given))
        translation = rng.integers(6, 400, round(stretch * len(sentence))).astype(np.uint16)
        prefix.add(translation)
        forgetting.add(translation)
    assert max(kept[15:]) < 0.8 * sum(len(sentence) + 1 for sentence in source), "something was left out"
    assert forgetting.kept > 0, "something was forgotten"


@pytest.mark.slow
def test_documents_side_by_side_are_what_each_is_alone(loaded: LoadedModel) -> None:
    way = translator(loaded, strategy="sequential")
    together = list(way.translate_all([*DOCUMENTS, Document.of("empty", []), Document.of("blank", ["", ""])]))
    assert [t.texts for t in together[:3]] == [way.translate(document).texts for document in DOCUMENTS]
    assert [len(t.segments) for t in together[3:]] == [0, 2]


def test_what_does_not_fit_together_is_searched_in_halves(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [Document.of(f"{n}", [f"a {'b ' * n}c", "d e f"]) for n in range(5)]
    way = translator(loaded, batch_size=5)
    whole = [t.texts for t in way.translate_all(documents)]
    search, sizes = PytorchSearcher._search, []

    def small(self: PytorchSearcher, requests: Any) -> Any:
        sizes.append(len(requests))
        if len(requests) > 2:
            raise torch.OutOfMemoryError
        return search(self, requests)

    monkeypatch.setattr(PytorchSearcher, "_search", small)
    assert [t.texts for t in way.translate_all(documents)] == whole
    assert max(sizes) > 2

    def none(*_: Any) -> Any:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(PytorchSearcher, "_search", none)
    with pytest.raises(FensterError, match="out of memory in a single search"):
        list(way.translate_all(documents))


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [s for s in WAYS if s["strategy"] != "sequential"])
@pytest.mark.parametrize("batch_size", [3, 40])
def test_blocks_of_several_documents_are_what_each_is_alone(
    loaded: LoadedModel, batch_size: int, strategy: Any
) -> None:
    way = translator(loaded, batch_size=batch_size, **strategy)
    documents = [Document.of("empty", []), *DOCUMENTS, Document.of("blank", ["", ""])]
    together = list(way.translate_all(documents))
    assert [t.id for t in together] == [document.id for document in documents]
    alone = [way.translate(document) for document in documents]
    assert [t.texts for t in together] == [t.texts for t in alone]
    assert [t.misaligned for t in together] == [t.misaligned for t in alone]


@pytest.mark.parametrize("kind", ["concat", "lst", "window"])
def test_sequential_on_one_sentence_is_full_segment(toy: PreparedData, kind: str) -> None:
    """But for the end symbol: sequential decoding also stops at a separator, which the other is forbidden."""
    loaded = make_loaded(toy, kind)
    for text in DOCUMENTS[0].texts[:6]:
        one, other = (
            translator(loaded, strategy=s, beam=1).translate([text]) for s in ("sequential", "full-segment")
        )
        shorter, longer = sorted((one.texts[0], other.texts[0]), key=len)
        assert longer.startswith(shorter)


@pytest.mark.slow
def test_history_is_context_that_is_not_translated_again(toy: PreparedData) -> None:
    """Going on with a conversation gives what translating it at once gives, the same translations being context."""
    way = translator(make_loaded(toy, "window"))
    texts, german = DOCUMENTS[1].texts, GERMAN[1].texts
    whole = way.translate(texts, gold=Document.of("", german))
    rest = way.translate(
        texts[4:], history=list(zip(texts[:4], german[:4], strict=True)), gold=Document.of("", german[4:])
    )
    assert rest.texts == whole.texts[4:]
    other = way.translate(texts[4:], history=[(text, "Etwas anderes.") for text in texts[:4]])
    assert other.segments[0].score != rest.segments[0].score
    with pytest.raises(ConfigError, match="does not use earlier translations"):
        translator(make_loaded(toy, "concat")).translate(texts, history=[("a", "b")])


def test_gold_context_must_fit(toy: PreparedData) -> None:
    with pytest.raises(ConfigError, match="gold has 1 segments"):
        translator(make_loaded(toy, "window")).translate(DOCUMENTS[0], gold=Document.of("", ["a"]))


def test_scores_are_the_models(toy: PreparedData) -> None:
    """What sequential decoding says about its translations is what forced scoring says."""
    loaded = make_loaded(toy, "window")
    texts = DOCUMENTS[0].texts[:5]
    given = toy.tokenizer.encode_each(GERMAN[0].texts[:5])
    for number in range(1, 5):
        prefix = Prefix(list(toy.tokenizer.encode_each(texts[: number + 1])))
        for sentence in given[:number]:
            prefix.add(sentence)
        config = DecodeConfig(beam=3, normalisation=0.0)
        request = SequentialStrategy(loaded, config).request(prefix, first=0, bod=False)
        best = PytorchSearcher(loaded.model, config).search([request])[0][0]
        assert best.score == best.logprob
        sides = [concatenate(prefix.source), concatenate([*given[:number], best.ids[:-1]])]
        source, target = (PackedSide.pack([side]) for side in sides)
        with torch.no_grad():
            hidden = loaded.model(
                *(torch.from_numpy(side.ids).long() for side in (source, target)),
                *(Layout.of(side) for side in (source, target)),
                alignment=loaded.model.alignment("sent-align"),
            )
            logs = loaded.model.logits(hidden[-len(best.ids) :]).log_softmax(-1)
        assert float(logs[range(len(best.ids)), best.ids].sum()) == pytest.approx(best.logprob, rel=1e-6)
    (found,) = score(loaded, [(texts[:3], texts[:3])], alignment="sent-align")
    assert len(found.tokens) == 3 and found.total == pytest.approx(sum(found.sentences))
    batch = score(loaded, [(texts[:3], texts[:3]), (texts[1:2], texts[3:4])], alignment="sent-align", tokens=10)
    assert batch[0].total == pytest.approx(found.total, rel=1e-6)
    assert all(value <= 0 for sentence in found.tokens for value in sentence)


@pytest.mark.parametrize(
    ("kind", "context", "wanted"),
    [
        # (first sentence of the context, sentences in all, <bod>) of each sequence that is scored
        ("sentence", "auto", [(0, 1, False), (1, 1, False), (2, 1, False), (3, 1, False)]),
        ("concat-2", "auto", [(0, 1, True), (0, 2, True), (0, 3, False), (1, 3, False)]),
        ("concat-2", "sentence", [(0, 1, True), (1, 1, True), (2, 1, True), (3, 1, True)]),
        ("concat", "auto", [(0, 2, False), (2, 2, False)]),
        ("concat", "document", [(0, 4, False)]),
        ("concat", "sentence", [(0, 1, False), (1, 1, False), (2, 1, False), (3, 1, False)]),
        ("concat", 0, [(0, 1, False), (1, 1, False), (2, 1, False), (3, 1, False)]),
        ("concat", 2, [(0, 1, False), (0, 2, False), (0, 3, False), (1, 3, False)]),
    ],
)
def test_scoring_gives_the_context_of_training(
    toy: PreparedData, kind: str, context: Any, wanted: list[tuple[int, int, bool]]
) -> None:
    loaded = make_loaded(toy, kind)
    texts = ["It is old.", "Are you tired, Anna?", "Hi, Anna.", "Here is the lamp."]
    if kind == "concat" and context == "auto":
        limit = sum(len(ids) + 1 for ids in toy.tokenizer.encode_each(texts[:2])) + 1
        small = loaded.description.model_copy(update={"context": DocumentContext(limit=limit)})
        loaded = replace(loaded, description=small)
    found = score_in_context(loaded, texts, texts, context)
    expected: list[tuple[float, ...]] = []
    for first, count, bod in wanted:
        (each,) = score(loaded, [(texts[first : first + count],) * 2], bod=bod)
        expected += each.tokens[-1:] if kind == "concat-2" or context == 2 else each.tokens
    assert [len(tokens) for tokens in found] == [len(tokens) for tokens in expected]
    assert sum(found, ()) == pytest.approx(sum(expected, ()))


def test_a_translator_that_nobody_uses_is_freed(toy: PreparedData) -> None:
    """With its weights, at once: they are too large to wait for the garbage collector."""
    translator = Translator(make_loaded(toy, "window"), DecodeConfig(beam=1))
    translator.translate("It is old.")
    gone = weakref.ref(translator)
    gc.disable()
    try:
        del translator
        assert gone() is None
    finally:
        gc.enable()


def test_what_an_earlier_call_made_is_checked(toy: PreparedData) -> None:
    translator = Translator(make_loaded(toy, "window"), DecodeConfig(beam=1, length_ratio=1.0))
    made = translator.translate(["It is old.", "Are you tired?"]).segments
    wrong: list[Any] = [["x"], None, made * 2, made[::-1]]
    for done in wrong:
        with pytest.raises(InputError, match="done"):
            list(translator.stream(["It is old.", "Hi."], done=done))
    with pytest.raises(InputError, match="not several documents"):
        next(translator.translate_all("Hi."))
    with pytest.raises(ConfigError, match="gold has 1 segments"):
        translator.translate(["It is old.", "Hi."], gold=["Sie ist alt."])


def test_long_documents_begin_at_once(toy: PreparedData, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments are planned as they are needed, and what has left is not kept."""
    translator = Translator(make_loaded(toy, "window"), DecodeConfig(beam=1, length_ratio=1.0, lookahead=1))
    planned: list[str] = []
    plan = translator.planner.plan

    def counting(text: str, *more: Any) -> Any:
        planned.append(text)
        return plan(text, *more)

    monkeypatch.setattr(translator.planner, "plan", counting)
    texts = [text for n in range(20) for text in (f"It is old, {n}.", "")]
    state = translator.open(0, Document.of("", texts), translator.translate(texts[:4]).segments)
    planned.clear()
    pool = translator.pool()
    pool.add(state)
    count = 0
    while not state.finished:
        count += sum(1 for _ in pool.step())
        assert len(planned) <= count + 3 and len(state._plan._plans) <= 6 and len(state._plan._pieces) <= 4
        pool.gather()
    assert count == 36 and planned == texts[7:]


def test_single_sentences_begin_as_in_training(toy: PreparedData) -> None:
    """Without predecessors a system with k sentences of context has only ever seen `<bod>` before a sentence."""
    source = toy.tokenizer.encode_each(["a b"] * 3)

    def requests(kind: str, done: int = 0, **settings: Any) -> list[SearchRequest]:
        strategy = Translator(make_loaded(toy, kind), DecodeConfig(**settings)).strategy
        return strategy.begin(SourceDocument(map(SourceSentence, source), source[:done])).requests(9)

    for kind, bod in (("concat-2", True), ("concat", False), ("sentence", False)):
        assert [request.bod for request in requests(kind, strategy="sentence")] == [bod] * 3
    (request,) = requests("concat-2", done=1, strategy="sequential", context=0)
    assert request.bod and len(request.source) == 1


@pytest.mark.parametrize(
    ("kind", "settings", "told"),
    [
        ("concat", {"alignment": "one-to-one"}, "alignment applies only to window attention"),
        ("concat", {"focus": True}, "focus applies only to window attention"),
        ("concat", {"lookahead": 1}, "lookahead is for sequential decoding, but this is full-segment"),
        ("concat", {"context": 3}, "context is for sequential decoding"),
        ("window", {"count": "split"}, "count is for full-segment decoding, but this is sequential"),
        ("sentence", {"context": "document"}, "but this is sentence"),
    ],
)
def test_settings_that_would_do_nothing_are_refused(
    toy: PreparedData, kind: str, settings: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        Translator(make_loaded(toy, kind), DecodeConfig(**settings))


def test_blocks_are_the_papers(toy: PreparedData) -> None:
    lengths = np.full(8, 4)
    two = make_loaded(toy, "concat-2").description.context
    assert list(two.blocks(lengths)) == [Span(0, 0, 2, True), Span(2, 2, 5, False), Span(5, 5, 8, False)]
    assert list(two.blocks(lengths[:2])) == [Span(0, 0, 2, True)]
    parts = list(make_loaded(toy, "concat").description.context.blocks(np.full(48, 4)))
    assert parts[0].begin == 0 and parts[-1].end == 48 and len(parts) > 2
    assert all(a.end == b.begin for a, b in pairwise(parts))


def test_fitting_the_count() -> None:
    assert fit([(1,), (2,)], 4) == [(1,), (2,), (), ()]
    assert fit([(1,), (2,), (3, 4), (5,)], 2) == [(1,), (2, 3, 4, 5)]


@pytest.mark.slow
def test_misaligned_parts_are_counted(toy: PreparedData) -> None:
    loaded = make_loaded(toy, "concat")
    split = translator(loaded, count="split").translate(DOCUMENTS[0])
    forced = translator(loaded).translate(DOCUMENTS[0])
    assert forced.misaligned == 0 and split.misaligned > 0
    assert len(split.segments) == len(forced.segments) == len(DOCUMENTS[0])
    # A call that resumes counts the blocks whose first sentence it makes.
    way = translator(loaded, count="split")
    for done in range(len(DOCUMENTS[0])):
        rest = list(way.stream(DOCUMENTS[0], done=split.segments[:done]))
        assert [segment.text for segment in rest] == split.texts[done:]
        assert sum(segment.misaligned for segment in rest) == sum(s.misaligned for s in split.segments[done:])


def test_unknown_alignment(toy: PreparedData) -> None:
    with pytest.raises(ConfigError, match="unknown alignment for decoding 'linear'"):
        translator(make_loaded(toy, "window"), alignment="linear")


def test_bytes_that_spell_line_breaks_stay_in_their_line(toy: PreparedData) -> None:
    loaded = make_loaded(toy, "window")
    pieces = toy.tokenizer.pieces(range(len(toy.tokenizer)))
    with torch.no_grad():
        loaded.model.embedding.weight.zero_()
        loaded.model.embedding.weight[pieces.index("<0x0A>")] = 1e-3
    for beam in (1, 3):
        for segment in translator(loaded, beam=beam).translate(["Hi, Anna.", "Are you tired?"]).segments:
            assert "\n" not in segment.text and not any("\n" in text for text, _ in segment.alternatives)


def test_repair_begins_documents_once(toy: PreparedData, monkeypatch: pytest.MonkeyPatch) -> None:
    """`<bod>` stands before the first block only, in repaired blocks too."""
    loaded = make_loaded(toy, "concat-2")
    way = translator(loaded, count="repair")
    seen: list[SearchRequest] = []
    search = Searcher.search

    def watched(self: Searcher, requests: Any) -> Any:
        seen.extend(requests)
        return search(self, requests)

    monkeypatch.setattr(Searcher, "search", watched)
    result = way.translate(DOCUMENTS[0])
    assert result.misaligned > 1 and len(result.segments) == len(DOCUMENTS[0])
    first = toy.tokenizer.encode_each(DOCUMENTS[0].texts[:1])[0]
    assert all(np.array_equal(request.source[0], first) == request.bod for request in seen)


def test_focus_keeps_to_the_sentence_being_translated(toy: PreparedData) -> None:
    """With it, what other source sentences say to cross-attention does not matter; without, it does."""
    loaded = make_loaded(toy, "window")
    model = loaded.model
    sentences = [loaded.tokenizer.encode_each([text])[0] for text in ("Hi, Anna.", "Are you tired?", "It is old.")]
    source = Layout.from_sentence_lengths([[len(each) + 1 for each in sentences]], "cpu", [0])
    target = Layout.from_sentence_lengths([[4, 1]], "cpu", [0])  # one sentence is translated, the second comes
    memory = torch.randn(int(source.offsets[-1]), model.config.d_model, dtype=torch.float64)
    other = memory.clone()
    other[source.sentence != 1] += 1  # all but the second source sentence
    inputs = torch.tensor([BOS_ID, 7, 8, 9, SEP_ID])
    found = {}
    for focus in (False, True):
        for name, states in (("plain", memory), ("changed", other)):
            _, state = model.prefill(inputs, target, memory, source, focus=focus)
            kv = [layer.cross.project_source(states) for layer in model.decoder_layers()]
            seen = model.variant.source_cache(kv, source, focus)
            hidden, _ = model.step(torch.tensor([11]), replace(state, cross_cache=seen))
            found[focus, name] = hidden
    assert not torch.allclose(found[False, "plain"], found[False, "changed"])
    torch.testing.assert_close(found[True, "plain"], found[True, "changed"])


def test_a_memory_is_reused_and_is_context(toy: PreparedData, tmp_path: Path) -> None:
    """What the memory has is taken from it; the rest is as if the memory's translations were the model's own."""
    memory = tmp_path / "m.tsv"
    memory.write_text("a\tAre you tired?\tBist du müde?\n")
    texts = ["Are you tired?", "Hi, Anna.", "Are  you tired?", "It is very old.", "Here is the lamp."]
    loaded = make_loaded(toy, "window")
    usual = {"beam": 2, "strategy": "sequential", "guards": False}
    plain = Translator(loaded, DecodeConfig(**usual)).translate(texts)
    result = Translator(loaded, DecodeConfig(memory=memory, **usual)).translate(texts)
    assert result.texts[0] == result.texts[2] == "Bist du müde?"
    gold = Document.of("", ["Bist du müde?", result.texts[1], "Bist du müde?", *result.texts[3:]])
    forced = Translator(loaded, DecodeConfig(**usual)).translate(texts, gold=gold)
    assert result.texts[1] == forced.texts[1] and result.texts[3:] == forced.texts[3:]
    assert len(plain.texts) == len(texts)
    stopped = Translator(loaded, DecodeConfig(memory=memory, **usual))
    done = result.segments[:2]
    assert [one.text for one in stopped.stream(texts, done=done)] == result.texts[2:]


@pytest.mark.parametrize("wrong", [None, 3, b"bytes", [None], ["\ud800"], Document.of("x", ["\ud800 hi"])])
def test_what_is_no_document_is_refused(toy: PreparedData, wrong: Any) -> None:
    with pytest.raises(InputError):
        list(translator(make_loaded(toy, "window"), beam=1).stream(wrong))


@pytest.mark.parametrize(
    "wrong", ["conversation.tsv", None, ["ab", "cd"], [("a",)], [("a", "b", "c")], [("a", "\ud800")]]
)
def test_a_history_is_pairs_of_texts(toy: PreparedData, wrong: Any) -> None:
    with pytest.raises(InputError):
        translator(make_loaded(toy, "window"), beam=1).translate(["Here is the lamp."], history=wrong)


def test_a_history_may_come_one_by_one(toy: PreparedData) -> None:
    model = translator(make_loaded(toy, "window"), beam=1)
    pairs = [("Here is the lamp.", "Hier ist die Lampe.")]
    texts = [model.translate(["It is old."], history=given).texts for given in (pairs, (one for one in pairs))]  # type: ignore[arg-type]
    assert texts[0] == texts[1]
