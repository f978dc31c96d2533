"""What a metric is, and what it measures: a score with its statistics, so that it can be computed again for any
sample of documents.

Every metric here is a formula over sums of statistics: n-gram counts, edits, matched forms. A `Measurement` holds one
row of statistics per segment (or per document); the score of a set is the formula of the rows' sum. Formulas have
names, so that a measurement can be written to a file and compared with another long after.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from fenster.evaluate.metrics.sacrebleu_adapter import Statistics, score_from_statistics
from fenster.registry import Registry

if TYPE_CHECKING:
    from fenster.evaluate.metrics.form_f1 import FormCounter
    from fenster.evaluate.test_set import TranslatedTestSet

Formula = Callable[[Statistics, Mapping[str, Any]], float]

UNDEFINED = math.nan
"""The score of a sample with nothing to score, such as pronouns if there are none."""


def _sacrebleu(name: str, total: Statistics, _: Mapping[str, Any]) -> float:
    return score_from_statistics(name, total)


def _f1(total: Statistics, parameters: Mapping[str, Any]) -> float:
    """Of rows [matched, in hypothesis, in reference] for each class, with a weight each.

    With no form in the reference there is nothing to find: undefined. Forms that are never matched: 0.
    """
    precision, recall = precision_recall(total, parameters)
    if math.isnan(recall):
        return UNDEFINED
    if math.isnan(precision) or precision + recall == 0:
        return 0.0
    return 2 * precision * recall / (precision + recall)


def precision_recall(total: Statistics, parameters: Mapping[str, Any]) -> tuple[float, float]:
    weights = np.asarray(parameters["weights"], dtype=float)
    matched, hypothesis, reference = total.reshape(3, -1) @ weights
    return (
        100 * matched / hypothesis if hypothesis else UNDEFINED,
        100 * matched / reference if reference else UNDEFINED,
    )


def _share(total: Statistics, _: Mapping[str, Any]) -> float:
    """Percentage of rows [hits, cases]."""
    return 100 * float(total[0]) / float(total[1]) if total[1] else UNDEFINED


FORMULAS: Registry[Formula] = Registry(
    "formula",
    {
        "bleu": partial(_sacrebleu, "bleu"),
        "ter": partial(_sacrebleu, "ter"),
        "chrf": partial(_sacrebleu, "chrf"),
        "f1": _f1,
        "share": _share,
    },
)


@dataclass(frozen=True)
class Measurement:
    name: str
    """A variant of another measurement carries its name in brackets: it is kept in results, and left out of
    tables."""
    formula: str
    statistics: Statistics
    """[N, statistics]"""
    document_index: npt.NDArray[np.int64]
    """[N] the document of each row."""
    signature: str = ""
    """How it was computed, so that it can be computed again."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    """Figures that belong to it, such as counts of each class."""
    higher: bool = True
    """True if more is better."""

    def score_of(self, total: Statistics) -> float:
        return FORMULAS[self.formula](total, self.parameters)

    @property
    def score(self) -> float:
        return self.score_of(self.statistics.sum(0))

    def by_document(self, count: int) -> Statistics:
        """[count, statistics] the sums of each document."""
        sums = np.zeros((count, self.statistics.shape[1]))
        np.add.at(sums, self.document_index, self.statistics)
        return sums


class Metric(ABC):
    """What can be measured on a translated test set."""

    label: ClassVar[str]
    """What is left out if it cannot be measured."""
    needs_source: ClassVar[bool] = False
    needs_counter: ClassVar[bool] = False
    """True if it counts forms by the rules of a language pair."""

    @abstractmethod
    def measure(self, test_set: TranslatedTestSet, counter: FormCounter | None) -> list[Measurement]:
        """Its measurements, in the order of tables. `counter` is given if there are rules for the language pair."""

    def why_skipped(self, test_set: TranslatedTestSet, counter: FormCounter | None) -> str | None:
        """Why it cannot be measured; None if it can."""
        if self.needs_source and not test_set.with_source:
            return "the source is not given"
        if self.needs_counter and counter is None:
            return "no rules for this language pair"
        return None
