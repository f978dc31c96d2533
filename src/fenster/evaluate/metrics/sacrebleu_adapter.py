"""The one place that uses sacrebleu's private methods: statistics per segment, and scores from sums of them.

Its own significance tests use the same two methods, so they are as stable as anything private; the upper bound on
sacrebleu's version and a test that names them guard against a change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.base import Metric as SacrebleuMetric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from fenster.io.native_library import library


class CompiledTER(TER):
    """The same figures from the compiled library, about fifty times as fast; sacrebleu's own code where it is
    missing."""

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[float]:
        references: list[list[str]] = ref_kwargs["ref_words"]
        compiled, words = library(), hypothesis.split()
        if compiled is None:
            return list(super()._compute_segment_statistics(hypothesis, ref_kwargs))
        numbers: dict[str, int] = {}
        ours = _numbered(words, numbers)
        edits = []
        for reference in references:
            theirs = _numbered(reference, numbers)
            edits.append(compiled.fenster_ter(ours.ctypes.data, len(ours), theirs.ctypes.data, len(theirs)))
        if min(edits) < 0:  # sacrebleu says what is wrong
            return list(super()._compute_segment_statistics(hypothesis, ref_kwargs))
        return [min(edits), sum(map(len, references)) / len(references)]


def _numbered(words: Sequence[str], numbers: dict[str, int]) -> npt.NDArray[np.int32]:
    return np.array([numbers.setdefault(word, len(numbers)) for word in words], dtype=np.int32)


Statistics = npt.NDArray[np.float64]
_METRICS: dict[str, type[SacrebleuMetric]] = {"bleu": BLEU, "ter": CompiledTER, "chrf": CHRF}
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
