"""Documents in, documents out: nothing lost, strategies as the paper defines them."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fenster.batch import PackedSide
from fenster.context import DocumentContext, join
from fenster.corpus.generated import generate
from fenster.decode import job, sequential
from fenster.decode.config import DecodeConfig
from fenster.decode.full_segment import Block, blocks, fitted
from fenster.decode.job import run
from fenster.decode.plan import Plan
from fenster.decode.score import score, score_in_context
from fenster.decode.sequential import Reading
from fenster.decode.translator import Translator
from fenster.document import Document
from fenster.errors import ConfigError, FensterError
from fenster.model.packed import Packed
from fenster.model.saved import Saved
from fenster.shards import Prepared
from fenster.tokenize import BOS_ID, EOS_ID, SEP_ID
from tests.decode.conftest import make_saved

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


def translator(saved: Saved, **changes: Any) -> Translator:
    usual = {"beam": 2, "length_ratio": 1.0, "length_extra": 4}
    return Translator(saved, DecodeConfig(**(usual | changes)))


STRATEGIES = [
    {"strategy": "sentence"},
    {"strategy": "full-segment"},
    {"strategy": "full-segment", "count": "split"},
    {"strategy": "full-segment", "count": "repair"},
    {"strategy": "sequential"},
    {"strategy": "sequential", "context": 1},
    {"strategy": "sequential", "context": "part", "lookahead": 1},
]


@pytest.mark.parametrize("changes", STRATEGIES, ids=str)
def test_one_segment_out_for_each_in(saved: Saved, changes: dict[str, Any]) -> None:
    result = translator(saved, **changes).translate(Document.of("odd", ODD))
    assert len(result.segments) == len(ODD)
    assert all(segment.text == "" for segment, text in zip(result.segments, ODD, strict=True) if not text.strip())
    assert result.document.id == "odd"


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=20), max_size=6))
def test_any_text(toy: Prepared, texts: list[str]) -> None:
    for kind, strategy in (("window", "sequential"), ("concat", "full-segment")):
        result = translator(make_saved(toy, kind), strategy=strategy, beam=1).translate(texts)
        assert len(result.segments) == len(texts)


def test_a_very_long_sentence_is_flagged_not_cut(toy: Prepared) -> None:
    saved = make_saved(toy, "window")
    found = translator(saved, beam=1, length_ratio=0.01, length_extra=3).translate(["word " * 2500, "short"])
    assert len(found.segments) == 2 and found.segments[0].capped
    assert (
        len(found.segments[0].ids) == math.ceil(0.01 * len(toy.tokenizer.encode([("word " * 2500).strip()])[0])) + 3
    )
    logits = saved.model.logits
    end = torch.nn.functional.one_hot(torch.tensor(EOS_ID), len(toy.tokenizer)) * 1000.0
    saved.model.logits = lambda hidden: logits(hidden) + end  # type: ignore[method-assign]  # ends as soon as it may
    free = translator(saved).translate(["short"])
    assert not free.segments[0].capped and len(free.segments[0].ids) == 1


@pytest.mark.parametrize("stretch", [0.6, 1.0, 1.8], ids=lambda s: f"target {s} times as long")
@pytest.mark.parametrize("alignment", ["sent-align", "one-to-one", "train-ratio", "sent-linear"])
@pytest.mark.parametrize("kind", ["window", "window-absolute"])
def test_what_is_left_out_changes_nothing(toy: Prepared, kind: str, alignment: str, stretch: float) -> None:
    """Sequential decoding of a long document: with only what is in reach, and with everything encoded again; context
    from the beginning, from the middle, and with `<bod>`."""
    saved = make_saved(toy, kind)
    source = toy.tokenizer.encode_each([text for document in DOCUMENTS for text in document.texts][:30])
    rng = np.random.default_rng(1)
    reading, kept = Reading(list(source)), []
    for number, sentence in enumerate(source):
        for first, bod in ((0, False), (0, True), (number // 2, False)):
            jobs = [
                sequential.job(saved.model, reading, 6, first=first, bod=bod, alignment=alignment, whole=whole)
                for whole in (False, True)
            ]
            if number % 3 == 0 or len(jobs[0].source) < len(jobs[1].source):
                near, far = (
                    run(saved.model, [job], beam=2, normalisation=1.0, alignment=alignment)[0] for job in jobs
                )
                assert [h.ids for h in near] == [h.ids for h in far]
                assert [h.score for h in near] == pytest.approx([h.score for h in far], rel=1e-7)
            if not bod and first == 0:
                kept.append(jobs[0].tokens)
        reading.add(rng.integers(6, 400, round(stretch * len(sentence))))
    assert max(kept[15:]) < 0.8 * sum(len(sentence) + 1 for sentence in source), "something was left out"


def _ids(ids: tuple[int, ...]) -> Any:
    return np.array(ids[:-1])


def test_documents_side_by_side_are_what_each_is_alone(saved: Saved) -> None:
    way = translator(saved, strategy="sequential")
    together = list(way.translate_all([*DOCUMENTS, Document.of("empty", []), Document.of("blank", ["", ""])]))
    assert [t.texts for t in together[:3]] == [way.translate(document).texts for document in DOCUMENTS]
    assert [len(t.segments) for t in together[3:]] == [0, 2]


def test_what_does_not_fit_together_is_searched_in_halves(saved: Saved, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [Document.of(f"{n}", [f"a {'b ' * n}c", "d e f"]) for n in range(5)]
    way = translator(saved, lanes=5)
    whole = [t.texts for t in way.translate_all(documents)]
    search, sizes = job.search, []

    def small(model: Any, hidden: Any, state: Any, limits: Any, **settings: Any) -> Any:
        sizes.append(len(limits))
        if len(limits) > 2:
            raise torch.OutOfMemoryError
        return search(model, hidden, state, limits, **settings)

    monkeypatch.setattr(job, "search", small)
    assert [t.texts for t in way.translate_all(documents)] == whole
    assert max(sizes) > 2

    def none(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(job, "search", none)
    with pytest.raises(FensterError, match="out of memory in a single search"):
        list(way.translate_all(documents))


@pytest.mark.parametrize("strategy", [s for s in STRATEGIES if s["strategy"] != "sequential"])
@pytest.mark.parametrize("lanes", [3, 40])
def test_blocks_of_several_documents_are_what_each_is_alone(saved: Saved, lanes: int, strategy: Any) -> None:
    way = translator(saved, lanes=lanes, **strategy)
    documents = [Document.of("empty", []), *DOCUMENTS, Document.of("blank", ["", ""])]
    together = list(way.translate_all(documents))
    assert [t.id for t in together] == [document.id for document in documents]
    alone = [way.translate(document) for document in documents]
    assert [t.texts for t in together] == [t.texts for t in alone]
    assert [t.misaligned for t in together] == [t.misaligned for t in alone]


@pytest.mark.parametrize("kind", ["concat", "lst", "window"])
def test_sequential_on_one_sentence_is_full_segment(toy: Prepared, kind: str) -> None:
    """But for the end symbol: sequential decoding also stops at a separator, which the other is forbidden."""
    saved = make_saved(toy, kind)
    for text in DOCUMENTS[0].texts[:6]:
        one, other = (translator(saved, strategy=s, beam=1).translate([text]) for s in ("sequential", "full-segment"))
        shorter, longer = sorted((one.texts[0], other.texts[0]), key=len)
        assert longer.startswith(shorter)


def test_history_is_context_that_is_not_translated_again(toy: Prepared) -> None:
    """Going on with a conversation gives what translating it at once gives, the same translations being context."""
    way = translator(make_saved(toy, "window"))
    texts, german = DOCUMENTS[1].texts, GERMAN[1].texts
    whole = way.translate(texts, gold=Document.of("", german))
    rest = way.translate(
        texts[4:], history=list(zip(texts[:4], german[:4], strict=True)), gold=Document.of("", german[4:])
    )
    assert rest.texts == whole.texts[4:]
    other = way.translate(texts[4:], history=[(text, "Etwas anderes.") for text in texts[:4]])
    assert other.segments[0].score != rest.segments[0].score
    with pytest.raises(ConfigError, match="no use for earlier translations"):
        translator(make_saved(toy, "concat")).translate(texts, history=[("a", "b")])


def test_gold_context_must_fit(toy: Prepared) -> None:
    with pytest.raises(ConfigError, match="gold has 1 segments"):
        translator(make_saved(toy, "window")).translate(DOCUMENTS[0], gold=Document.of("", ["a"]))


def test_scores_are_the_models(toy: Prepared) -> None:
    """What sequential decoding says about its translations is what forced scoring says."""
    saved = make_saved(toy, "window")
    texts = DOCUMENTS[0].texts[:5]
    given = toy.tokenizer.encode_each(GERMAN[0].texts[:5])
    for number in range(1, 5):
        reading = Reading(list(toy.tokenizer.encode_each(texts[: number + 1])))
        for sentence in given[:number]:
            reading.add(sentence)
        (best, *_), = run(
            saved.model,
            [sequential.job(saved.model, reading, 40, first=0)],
            beam=3,
            normalisation=0.0,
            alignment=None,
        )  # fmt: skip
        assert best.score == best.logprob
        sides = [join(reading.source), join([*given[:number], best.ids[:-1]])]
        source, target = (PackedSide.pack([side]) for side in sides)
        with torch.no_grad():
            hidden = saved.model(
                *(torch.from_numpy(side.ids).long() for side in (source, target)),
                *(Packed.of(side) for side in (source, target)),
                alignment=saved.model.alignment("sent-align"),
            )
            logs = saved.model.logits(hidden[-len(best.ids) :]).log_softmax(-1)
        assert float(logs[range(len(best.ids)), best.ids].sum()) == pytest.approx(best.logprob, rel=1e-6)
    (found,) = score(saved, [(texts[:3], texts[:3])], alignment="sent-align")
    assert len(found.tokens) == 3 and found.total == pytest.approx(sum(found.sentences))
    batch = score(saved, [(texts[:3], texts[:3]), (texts[1:2], texts[3:4])], alignment="sent-align", tokens=10)
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
    ],
)
def test_scoring_gives_the_context_of_training(
    toy: Prepared, kind: str, context: Any, wanted: list[tuple[int, int, bool]]
) -> None:
    saved = make_saved(toy, kind)
    texts = ["It is old.", "Are you tired, Anna?", "Hi, Anna.", "Here is the lamp."]
    if kind == "concat" and context == "auto":
        limit = sum(len(ids) + 1 for ids in toy.tokenizer.encode_each(texts[:2])) + 1
        small = saved.description.model_copy(update={"context": DocumentContext(limit=limit)})
        saved = replace(saved, description=small)
    found = score_in_context(saved, texts, texts, context)
    expected = []
    for first, count, bod in wanted:
        (each,) = score(saved, [(texts[first : first + count],) * 2], bod=bod)
        expected += each.tokens[-1:] if kind == "concat-2" else each.tokens
    assert [len(tokens) for tokens in found] == [len(tokens) for tokens in expected]
    assert sum(found, ()) == pytest.approx(sum(expected, ()))


def test_single_sentences_begin_as_in_training(toy: Prepared) -> None:
    """Without predecessors a system with k sentences of context has only ever seen `<bod>` before a sentence."""
    for kind, bod in (("concat-2", True), ("concat", False), ("sentence", False)):
        plan = Plan(make_saved(toy, kind), DecodeConfig(strategy="sentence"))
        assert [block.bod for block in plan.cut(toy.tokenizer.encode_each(["a b"] * 3))] == [bod] * 3
    plan = Plan(make_saved(toy, "concat-2"), DecodeConfig(strategy="sequential", context=0))
    reading = Reading(toy.tokenizer.encode_each(["a b"] * 3))
    reading.add(reading.source[0])
    assert plan.next(reading).bod and len(plan.next(reading).source) == 1


@pytest.mark.parametrize(
    ("kind", "settings", "told"),
    [
        ("concat", {"alignment": "one-to-one"}, "alignment is for window attention"),
        ("concat", {"focus": True}, "focus is for window attention"),
        ("concat", {"lookahead": 1}, "lookahead is for sequential decoding, and this is full-segment"),
        ("concat", {"context": 3}, "context is for sequential decoding"),
        ("window", {"count": "split"}, "count is for full-segment decoding, and this is sequential"),
        ("sentence", {"context": "document"}, "and this is sentence"),
    ],
)
def test_settings_that_would_do_nothing_are_refused(
    toy: Prepared, kind: str, settings: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        Translator(make_saved(toy, kind), DecodeConfig(**settings))


def test_blocks_are_the_papers(toy: Prepared) -> None:
    source = toy.tokenizer.encode_each(["a b c"] * 8)
    two = make_saved(toy, "concat-2").description.context
    assert blocks(source, two, 1.0) == [Block(0, 2, True), Block(2, 5, False), Block(5, 8, False)]
    assert blocks(source[:2], two, 1.0) == [Block(0, 2, True)]
    parts = blocks(source * 6, make_saved(toy, "concat").description.context, 0.95)
    assert parts[0].first == 0 and parts[-1].last == 48 and len(parts) > 2
    assert all(a.last == b.first for a, b in pairwise(parts))


def test_fitting_the_count() -> None:
    assert fitted([(1,), (2,)], 4) == [(1,), (2,), (), ()]
    assert fitted([(1,), (2,), (3, 4), (5,)], 2) == [(1,), (2, 3, 4, 5)]


def test_misaligned_parts_are_counted(toy: Prepared) -> None:
    saved = make_saved(toy, "concat")
    split = translator(saved, count="split").translate(DOCUMENTS[0])
    forced = translator(saved).translate(DOCUMENTS[0])
    assert forced.misaligned == 0 and split.misaligned > 0
    assert len(split.segments) == len(forced.segments) == len(DOCUMENTS[0])
    # A call that goes on counts the parts that it searches, the one that was interrupted too.
    way = translator(saved, count="split")
    counts = []
    for done in range(len(DOCUMENTS[0])):
        list(way.stream(DOCUMENTS[0], done=split.segments[:done]))
        counts.append(way.misaligned)
    assert counts[:2] == [split.misaligned] * 2 and counts[-1] > 0
    assert counts == sorted(counts, reverse=True)


def test_unknown_alignment(toy: Prepared) -> None:
    with pytest.raises(ConfigError, match="no alignment for decoding is called 'linear'"):
        translator(make_saved(toy, "window"), alignment="linear")


def test_bytes_that_spell_line_breaks_stay_in_their_line(toy: Prepared) -> None:
    saved = make_saved(toy, "window")
    pieces = toy.tokenizer.pieces(range(len(toy.tokenizer)))
    with torch.no_grad():
        saved.model.embedding.weight.zero_()
        saved.model.embedding.weight[pieces.index("<0x0A>")] = 1e-3
    for beam in (1, 3):
        for segment in translator(saved, beam=beam).translate(["Hi, Anna.", "Are you tired?"]).segments:
            assert "\n" not in segment.text and not any("\n" in text for text, _ in segment.alternatives)


def test_repair_begins_documents_once(toy: Prepared) -> None:
    """`<bod>` stands before the first block only, in repaired blocks too."""
    saved = make_saved(toy, "concat-2")
    way = translator(saved, count="repair")
    seen = []
    run_jobs = way._run
    way._run = lambda jobs: (seen.extend(jobs), run_jobs(jobs))[1]  # type: ignore[method-assign]
    result = way.translate(DOCUMENTS[0])
    assert result.misaligned > 1 and len(result.segments) == len(DOCUMENTS[0])
    first = toy.tokenizer.encode_each(DOCUMENTS[0].texts[:1])[0]
    assert all(np.array_equal(job.source[0], first) == job.bod for job in seen)


def test_focus_keeps_to_the_sentence_being_translated(toy: Prepared) -> None:
    """With it, what other source sentences say to cross-attention does not matter; without, it does."""
    saved = make_saved(toy, "window")
    model = saved.model
    sentences = [saved.tokenizer.encode_each([text])[0] for text in ("Hi, Anna.", "Are you tired?", "It is old.")]
    source = Packed.of_sentences([[len(each) + 1 for each in sentences]], "cpu", [0])
    target = Packed.of_sentences([[4, 1]], "cpu", [0])  # one sentence is translated, the second comes
    memory = torch.randn(int(source.offsets[-1]), model.config.width, dtype=torch.float64)
    other = memory.clone()
    other[source.sentence != 1] += 1  # all but the second source sentence
    inputs = torch.tensor([BOS_ID, 7, 8, 9, SEP_ID])
    found = {}
    for focus in (False, True):
        for name, states in (("plain", memory), ("changed", other)):
            _, state = model.fill(inputs, target, memory, source, focus=focus)
            kv = [layer.cross.remember(states) for layer in model._layers()]
            seen = model.variant.cross_state(kv, source, focus)
            hidden, _ = model.step(torch.tensor([11]), replace(state, source=seen))
            found[focus, name] = hidden
    assert not torch.allclose(found[False, "plain"], found[False, "changed"])
    torch.testing.assert_close(found[True, "plain"], found[True, "changed"])
