"""A score and what it was computed from, so that it can be computed again for any sample of documents.

Every metric here is a formula over sums of statistics: n-gram counts, edits, matched forms. A `Measure` holds one row
of statistics for each segment (or each document); the score of a set is the formula of the rows' sum. Formulas have
names, so that a measure can be written to a file and compared with another long after.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

Rows = npt.NDArray[np.float64]
Formula = Callable[[Rows, Mapping[str, Any]], float]

UNDEFINED = math.nan
"""The score of a sample with nothing to score, such as pronouns where there is none."""


def _bleu(total: Rows, _: Mapping[str, Any]) -> float:
    return float(BLEU()._compute_score_from_stats([int(number) for number in total]).score)


def _ter(total: Rows, _: Mapping[str, Any]) -> float:
    return float(TER()._compute_score_from_stats(list(total)).score)


def _chrf(total: Rows, _: Mapping[str, Any]) -> float:
    return float(CHRF()._compute_score_from_stats([int(number) for number in total]).score)


def _f1(total: Rows, parameters: Mapping[str, Any]) -> float:
    """Of rows [matched, in hypothesis, in reference] for each class, with a weight each.

    With no form in the reference there is nothing to find: undefined. Forms that are never matched: 0.
    """
    precision, recall = precision_recall(total, parameters)
    if math.isnan(recall):
        return UNDEFINED
    if math.isnan(precision) or precision + recall == 0:
        return 0.0
    return 2 * precision * recall / (precision + recall)


def precision_recall(total: Rows, parameters: Mapping[str, Any]) -> tuple[float, float]:
    weights = np.asarray(parameters["weights"], dtype=float)
    matched, hypothesis, reference = total.reshape(3, -1) @ weights
    return (
        100 * matched / hypothesis if hypothesis else UNDEFINED,
        100 * matched / reference if reference else UNDEFINED,
    )


def _share(total: Rows, _: Mapping[str, Any]) -> float:
    """Percentage of rows [hits, cases]."""
    return 100 * float(total[0]) / float(total[1]) if total[1] else UNDEFINED


FORMULAS: dict[str, Formula] = {"bleu": _bleu, "ter": _ter, "chrf": _chrf, "f1": _f1, "share": _share}


@dataclass(frozen=True)
class Measure:
    name: str
    formula: str
    rows: Rows
    """[N, statistics]"""
    owner: npt.NDArray[np.int64]
    """[N] the document of each row."""
    signature: str = ""
    """How it was computed, for whoever wants to compute it again."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    """Figures that belong to it, such as counts of each class."""
    higher: bool = True
    """Whether more is better."""

    def of(self, total: Rows) -> float:
        return FORMULAS[self.formula](total, self.parameters)

    @property
    def score(self) -> float:
        return self.of(self.rows.sum(0))

    def by_document(self, count: int) -> Rows:
        """[count, statistics] the sums of each document."""
        sums = np.zeros((count, self.rows.shape[1]))
        np.add.at(sums, self.owner, self.rows)
        return sums
