"""The one place that uses sacrebleu's private methods: statistics per segment, and scores from sums of them.

Its own significance tests use the same two methods, so they are as stable as anything private; the upper bound on
sacrebleu's version and a test that names them guard against a change.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.base import Metric as SacrebleuMetric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

Statistics = npt.NDArray[np.float64]
_METRICS: dict[str, type[SacrebleuMetric]] = {"bleu": BLEU, "ter": TER, "chrf": CHRF}
_INTEGERS = ("bleu", "chrf")  # whose statistics are counts


def segment_statistics(
    name: str, outputs: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[Statistics, str]:
    """([segments, statistics], signature) of one of sacrebleu's metrics."""
    metric = _METRICS[name]()
    rows = metric._extract_corpus_statistics(list(outputs), [list(reference) for reference in references])
    return np.array(rows, dtype=float), str(metric.get_signature())


def score_from_statistics(name: str, total: Statistics) -> float:
    """The score of a sum of such statistics."""
    values = [int(number) for number in total] if name in _INTEGERS else list(total)
    return float(_METRICS[name]()._compute_score_from_stats(values).score)
