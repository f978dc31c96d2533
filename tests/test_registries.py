"""What must hold for every registered part, whichever there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fenster.data.corpora import FORMATS, guess_format, read_corpus
from fenster.data.corpora.synthetic import generate
from fenster.decode.files import DOCUMENT_FORMATS, FileOptions, document_format
from fenster.decode.result import Translated
from fenster.evaluate.evaluation import EvaluationOptions
from fenster.evaluate.metrics import METRICS
from fenster.evaluate.tagging import TAGGERS
from fenster.evaluate.test_set import TranslatedTestSet
from fenster.io.files import FileSource
from fenster.model.attention.alignment import ALIGNMENTS, decoding_alignments
from fenster.model.attention.backends import AUTO, BACKENDS, choose
from fenster.model.attention.mask import AttentionMask
from fenster.model.attention.variants import VARIANTS
from fenster.model.layout import Layout
from tests.helpers import models, transformers
from tests.helpers.office import wrapped

DOCUMENTS = [generated.pair for generated in generate(5, seed=3)]


@pytest.mark.parametrize("name", decoding_alignments())
@pytest.mark.parametrize("ratio", [0.6, 1.0, 1.7])
def test_no_center_lies_below_the_bound_of_an_alignment(name: str, ratio: float) -> None:
    """Sequential decoding drops what lies before it: a bound that is too high gives wrong translations, silently."""
    rng = np.random.default_rng(0)
    alignment = ALIGNMENTS[name](ratio)
    for _ in range(20):
        sources = rng.integers(1, 15, rng.integers(1, 9)).tolist()
        targets = rng.integers(1, 15, len(sources)).tolist()
        source, target = Layout.from_sentence_lengths([sources]), Layout.from_sentence_lengths([targets])
        centers = alignment.prefix(source, target).tolist()
        starts = np.cumsum([0, *sources])
        for position, sentence in enumerate(target.sentence.tolist()):
            bound = min(alignment.lowest(position, int(starts[sentence])), sum(sources) - 1)  # clamped to the source
            assert min(centers[position:]) >= bound


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_among_the_models_of_the_tests(name: str) -> None:
    def kind(settings: dict[str, Any]) -> str:
        return str(settings.get("attention", {}).get("kind", "full"))

    assert name in {kind(settings) for settings in transformers.VARIANTS.values()}
    assert name in {kind(settings["model"]) for settings in models.KINDS.values()}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_describes_itself(name: str) -> None:
    variant = VARIANTS[name](VARIANTS[name].Config(kind=name))
    assert variant.label and variant.describe()
    assert VARIANTS[name].Config.model_fields["kind"].default == name, "its settings name it"
    # What is limited is limited for both: what may be dropped, and what tables show.
    assert (variant.receptive_field(6, 6) is None) == (variant.effective_context(6, 6) is None)
    assert (variant.alignment is None) == (variant.decoding_alignment is None)


@pytest.mark.parametrize("name", BACKENDS)
def test_a_backend_is_chosen_or_refused_never_misused(name: str) -> None:
    side = Layout.from_sentence_lengths([[5], [3]])
    q = torch.zeros(8, 2, 16)
    for window in (None, 2):
        mask = AttentionMask(side, side, window=window)
        assert choose(AUTO, mask, q, False).takes(mask)
        backend = BACKENDS[name]
        if backend.takes(mask) and backend.available(q, mask, False):
            assert choose(name, mask, q, False) is backend
            assert backend.attend(q, q, q, mask, None).shape == q.shape


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_a_formula_over_rows(name: str) -> None:
    """The score of a set is that of its summed documents, so that any metric can be resampled."""
    outputs = tuple(tuple(text.replace("Sie", "du") for text in pair.target.texts) for pair in DOCUMENTS)
    test_set = TranslatedTestSet(tuple(DOCUMENTS), outputs)
    counter = EvaluationOptions(tagger="lists").counter()
    metric = METRICS[name]()
    assert metric.label and metric.why_skipped(test_set, counter) is None
    for measurement in metric.measure(test_set, counter):
        assert len(measurement.statistics) == len(measurement.document_index)
        total = measurement.by_document(len(DOCUMENTS)).sum(0)
        assert measurement.score_of(total) == pytest.approx(measurement.score)


@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if form.write is not None])
def test_a_corpus_format_reads_what_it_writes(name: str, tmp_path: Path) -> None:
    form = FORMATS[name]
    suffix = form.suffixes[0] if form.suffixes else ""
    required = [part for part in form.paths if not part.startswith("[")]
    paths = [tmp_path / f"file{number}{suffix}" for number in range(len(required))]
    assert form.write is not None and form.write(DOCUMENTS, paths) == len(DOCUMENTS)
    assert guess_format(paths) is form
    read = list(read_corpus(paths))
    assert [(pair.source.texts, pair.target.texts) for pair in read] == [
        (pair.source.texts, pair.target.texts) for pair in sorted(DOCUMENTS, key=_order(read))
    ]


def _order(read: list[Any]) -> Any:
    """Some formats name documents by number or sort them: compare in the order of their texts."""
    texts = [pair.source.texts for pair in read]
    return lambda pair: texts.index(pair.source.texts)


@pytest.mark.parametrize("name", DOCUMENT_FORMATS)
def test_a_document_format_takes_exactly_its_segments(name: str) -> None:
    source = FileSource(wrapped(name, ["One. Two.", "", "Three."]), Path("a.txt"))
    for options in (FileOptions(), FileOptions(one_sentence_per_line=True), FileOptions(documents=True)):
        parsed = document_format(name).parse(source, options)
        assert parsed.segments
        translated = iter([Translated(segment.text, segment.text.upper()) for segment in parsed.segments])
        for _ in parsed.render(translated):
            pass
        assert next(translated, None) is None, "every segment was used"


@pytest.mark.parametrize("name", TAGGERS)
def test_a_tagger_gives_a_list_per_sentence(name: str) -> None:
    if name == "spacy":
        pytest.importorskip("spacy", reason="an extra")
    tagged = TAGGERS[name]("de").tag(["Sie sah ihn.", "", "Nein!"])
    assert len(tagged) == 3 and not tagged[1]
    assert [token for token, _ in tagged[0]][:2] == ["Sie", "sah"]
