"""The old and the new model on the same held-out documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fenster.adapt.corpus import Documents, pairs_in
from fenster.config import Config
from fenster.decode.config import DecodeConfig
from fenster.decode.translator import Translator
from fenster.evaluate.metrics.surface import Surface
from fenster.evaluate.test_set import TranslatedTestSet
from fenster.io.progress import bar

_METRICS = ("BLEU", "chrF")


class Comparison(Config):
    """Scores by metric, before and after."""

    name: str
    pairs: int
    before: dict[str, float]
    after: dict[str, float]

    @property
    def is_better(self) -> bool:
        """True if the scores have risen on average."""
        return sum(self.after[metric] - self.before[metric] for metric in _METRICS) > 0

    @property
    def cells(self) -> list[str]:
        """As a row of a table."""
        scores = (f"{self.before[metric]:.1f} → {self.after[metric]:.1f}" for metric in _METRICS)
        return [self.name, f"{self.pairs:,}", *scores]


def compare(
    name: str, documents: Documents, before: Path, after: Path, config: DecodeConfig, device: str
) -> Comparison:
    """Translate the documents with both models, and score them."""
    scores = [
        _scores(documents, _translated(f"{label}: {name}", documents, Translator.load(model, config, device)))
        for label, model in (("before", before), ("after", after))
    ]
    return Comparison(name=name, pairs=pairs_in(documents), before=scores[0], after=scores[1])


def _translated(title: str, documents: Documents, translator: Translator) -> tuple[tuple[str, ...], ...]:
    outputs: list[tuple[str, ...]] = []
    with bar(title, pairs_in(documents)) as advance:
        for translation in translator.translate_all([document.source for document in documents]):
            outputs.append(tuple(translation.texts))
            advance(len(translation.texts))
    return tuple(outputs)


def _scores(documents: Documents, outputs: Sequence[tuple[str, ...]]) -> dict[str, float]:
    measurements = Surface().measure(TranslatedTestSet(documents, tuple(outputs)))
    return {one.name: one.score for one in measurements if one.name in _METRICS}
