"""BLEU, TER and chrF are sacrebleu's, whole and by document; intervals and paired tests."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from fenster.data.corpora import read_corpus
from fenster.data.corpora.synthetic import generate
from fenster.document import Document, ParallelDocument
from fenster.evaluate.metrics.base import Measurement
from fenster.evaluate.metrics.sacrebleu_adapter import CompiledTER
from fenster.evaluate.metrics.surface import Surface
from fenster.evaluate.significance import bootstrap_counts, compare, interval
from fenster.evaluate.test_set import TranslatedTestSet
from fenster.io.native_library import library


def noisy(share: float, seed: int = 1, documents: int = 30) -> TranslatedTestSet:
    """Generated documents with a share of the words lost."""
    rng = random.Random(seed)
    pairs = tuple(each.pair for each in generate(documents, seed=7))
    outputs = tuple(
        tuple(" ".join(w for w in text.split() if rng.random() >= share) for text in pair.target.texts)
        for pair in pairs
    )
    return TranslatedTestSet(pairs, outputs)


def by_name(found: list[Measurement]) -> dict[str, Measurement]:
    return {measure.name: measure for measure in found}


def test_scores_are_sacrebleu_s() -> None:
    texts = noisy(0.2)
    found = by_name(Surface().measure(texts))
    for name, metric in (("BLEU", BLEU()), ("TER", TER()), ("chrF", CHRF())):
        wanted = metric.corpus_score(texts.outputs, texts.references)
        assert found[name].score == pytest.approx(wanted.score)
        assert found[name].signature == str(metric.get_signature())
    whole = [" ".join(each) for each in texts.hypotheses]
    joined = [" ".join(pair.target.texts) for pair in texts.documents]
    assert found["d-BLEU"].score == pytest.approx(BLEU().corpus_score(whole, [joined]).score)
    assert not found["TER"].higher


def test_scores_of_a_document_are_those_of_its_segments() -> None:
    texts = noisy(0.2)
    measure = by_name(Surface().measure(texts))["BLEU"]
    rows = measure.by_document(len(texts.documents))
    alone = BLEU().corpus_score(list(texts.hypotheses[3]), [texts.documents[3].target.texts])
    assert measure.score_of(rows[3]) == pytest.approx(alone.score)
    assert measure.score_of(rows.sum(0)) == pytest.approx(measure.score)


def test_several_references() -> None:
    source = Document.of("a", ["x", "y"])
    pair = ParallelDocument(
        source,
        Document.of("a", ["the cat sat down", "b"]),
        (Document.of("a", ["a dog ran off", "the end of it all"]),),
    )
    texts = TranslatedTestSet((pair,), (("a dog ran off", "the end of it all"),))
    assert by_name(Surface().measure(texts))["BLEU"].score == pytest.approx(100)


def test_empty_hypotheses_are_scored_not_skipped() -> None:
    texts = noisy(0.0)
    lost = tuple(("",) * len(each) if number % 2 else each for number, each in enumerate(texts.hypotheses))
    found = by_name(Surface().measure(TranslatedTestSet(texts.documents, lost)))
    assert found["BLEU"].score < 80
    assert found["TER"].score > 30
    empty = by_name(
        Surface().measure(TranslatedTestSet(texts.documents, tuple(("",) * len(each) for each in texts.hypotheses)))
    )
    assert empty["BLEU"].score == 0 and empty["TER"].score == 100


def test_an_interval_holds_the_score_and_narrows_with_documents() -> None:
    widths = []
    for documents in (8, 120):
        measure = by_name(Surface().measure(noisy(0.2, documents=documents)))["BLEU"]
        found = interval(measure, measure.by_document(documents))
        assert found.low < measure.score < found.high
        widths.append(found.high - found.low)
    assert widths[1] < 0.6 * widths[0]


def test_documents_are_drawn_not_sentences() -> None:
    """All errors in one document: drawing documents must give a far wider interval than drawing sentences."""
    rows = np.ones((100, 2))
    rows[:25, 0] = 0  # document 0 of four is wholly wrong
    measure = Measurement("m", "share", rows, np.repeat(np.arange(4), 25))
    wide, narrow = interval(measure, measure.by_document(4)), interval(measure, measure.statistics)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_draws_are_the_same_for_every_system() -> None:
    first = bootstrap_counts(9, 50)
    assert (first == bootstrap_counts(9, 50)).all()
    assert (first.sum(1) == 9).all() and len(np.unique(first, axis=0)) > 40


def test_paired_tests_see_real_differences_only() -> None:
    good, same, bad = (by_name(Surface().measure(noisy(*each)))["BLEU"] for each in ((0.2, 1), (0.2, 2), (0.3, 3)))
    rows = [measure.by_document(30) for measure in (good, same, bad)]
    assert compare(good, rows[0], rows[2]).p < 0.01
    assert compare(good, rows[0], rows[2]).difference == pytest.approx(good.score - bad.score)
    assert compare(good, rows[0], rows[1]).p > 0.05
    assert compare(good, rows[0], rows[0]).p == 1
    with pytest.raises(ValueError, match="cannot be paired"):
        compare(good, rows[0], rows[1][:5])


def test_a_single_unit_tells_nothing() -> None:
    """One document, one row: no interval, and above all no p-value."""
    ours, theirs = (
        Measurement("m", "share", np.array([[right, 10.0]]), np.zeros(1, dtype=int)) for right in (9.0, 1.0)
    )
    assert np.isnan([interval(ours, ours.statistics).low, compare(ours, ours.statistics, theirs.statistics).p]).all()
    assert compare(ours, ours.statistics, theirs.statistics).difference == 80


def test_undefined_scores_stay_undefined() -> None:
    measure = Measurement("m", "share", np.zeros((3, 2)), np.arange(3))
    found = interval(measure, measure.statistics)
    assert np.isnan(
        [measure.score, found.low, found.high, compare(measure, measure.statistics, measure.statistics).p]
    ).all()


def test_evaluation_never_loads_a_model() -> None:
    code = (
        "import sys, fenster.evaluate.evaluation, fenster.evaluate.report, fenster.evaluate.metrics.expected_form, "
        "fenster.evaluate.metrics.distance, fenster.evaluate.metrics.contrastive\n"
        "assert not [name for name in sys.modules if name == 'torch' or name.startswith('fenster.model')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


WORDS = st.lists(st.sampled_from("abcdefg"), max_size=40).map(" ".join)


@pytest.mark.skipif(library() is None, reason="not compiled: no C++ compiler")
@given(WORDS, st.lists(WORDS, min_size=1, max_size=3))
def test_compiled_ter_is_sacrebleus(hypothesis: str, references: list[str]) -> None:
    streams = [[reference] for reference in references]
    ours, theirs = (made._extract_corpus_statistics([hypothesis], streams) for made in (CompiledTER(), TER()))
    assert ours == theirs


@pytest.mark.skipif(library() is None, reason="not compiled: no C++ compiler")
@pytest.mark.parametrize(
    ("words", "others", "kinds"), [(3, 150, 4), (150, 3, 4), (90, 90, 2), (120, 130, 40), (0, 5, 3)]
)
def test_compiled_ter_is_sacrebleus_for_odd_lengths(words: int, others: int, kinds: int) -> None:
    """Beams that must be wider, more shifts than are tried, an empty side."""
    draw = random.Random(words)
    texts = [" ".join(str(draw.randrange(kinds)) for _ in range(count)) for count in (words, others)]
    ours, theirs = (made._extract_corpus_statistics([texts[0]], [[texts[1]]]) for made in (CompiledTER(), TER()))
    assert ours == theirs


def test_without_a_compiler_sacrebleu_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fenster.evaluate.metrics.sacrebleu_adapter.library", lambda: None)
    assert (
        CompiledTER().corpus_score(["b a c"], [["a b c"]]).score == TER().corpus_score(["b a c"], [["a b c"]]).score
    )


@pytest.mark.skipif(library() is None, reason="not compiled: no C++ compiler")
def test_compiled_ter_is_sacrebleus_on_real_text(shared_data: Path) -> None:
    documents = list(read_corpus([shared_data / "novels" / "en-de.dev.tsv.xz"]))[:2]
    references = [text for document in documents for text in document.target.texts]
    draw = random.Random(1)
    outputs = []
    for text in references:  # words moved, left out and changed, as translations do
        words = [word if draw.random() < 0.8 else "und" for word in text.split() if draw.random() < 0.9]
        cut = draw.randrange(len(words) + 1)
        outputs.append(" ".join(words[cut:] + words[:cut] if draw.random() < 0.5 else words))
    ours, theirs = (made._extract_corpus_statistics(outputs, [references]) for made in (CompiledTER(), TER()))
    assert ours == theirs
