"""Confidence intervals and paired tests by bootstrap, resampling documents.

Sentences of one document are not independent (register, topic, one bad search), so documents are resampled. A set
with a single document can only be resampled by its segments; results say which unit was resampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from fenster.evaluate.metrics.base import Measurement
from fenster.evaluate.metrics.sacrebleu_adapter import Statistics

SAMPLES, SEED = 1000, 12345


@dataclass(frozen=True)
class Interval:
    """The middle 95 % of the score's bootstrap distribution; NaN if no sample has a score."""

    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """A system against another: difference of scores, and how likely one as large is by chance."""

    difference: float
    p: float


@lru_cache(maxsize=2)  # large, and the tests of one test set follow each other
def bootstrap_counts(units: int, samples: int = SAMPLES, seed: int = SEED) -> npt.NDArray[np.float64]:
    """[samples, units] how often each unit is drawn; the same for all systems, so that tests are paired."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(units, np.full(units, 1 / units), size=samples).astype(float)
    counts.flags.writeable = False  # it is shared
    return counts


def interval(measure: Measurement, rows: Statistics, samples: int = SAMPLES, seed: int = SEED) -> Interval:
    """Of `rows` [units, statistics], the units that are resampled; a single unit gives no interval."""
    if len(rows) < 2:
        return Interval(np.nan, np.nan)
    scores = _scores(measure, rows, samples, seed)
    known = scores[~np.isnan(scores)]
    if not len(known):
        return Interval(np.nan, np.nan)
    low, high = np.percentile(known, [2.5, 97.5])
    return Interval(float(low), float(high))


def compare(
    measure: Measurement, ours: Statistics, theirs: Statistics, samples: int = SAMPLES, seed: int = SEED
) -> Comparison:
    """Paired bootstrap test of `ours` against `theirs`, the same units in the same order.

    The p-value is two-sided: the share of samples whose difference is as far from the mean difference as the true one
    is from 0. sacrebleu's paired bootstrap takes absolute differences first and counts one side, which gives about
    half of it.
    """
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} and {len(theirs)} units cannot be paired")
    true = measure.score_of(ours.sum(0)) - measure.score_of(theirs.sum(0))
    if len(ours) < 2:
        return Comparison(float(true), np.nan)
    return _two_sided(true, _scores(measure, ours, samples, seed) - _scores(measure, theirs, samples, seed))


def compare_seeds(
    measure: Measurement,
    ours: Sequence[Statistics],
    theirs: Sequence[Statistics],
    samples: int = SAMPLES,
    seed: int = SEED,
) -> Comparison:
    """The mean over the seeds of one system against that of another: a test over seeds and units at once.

    Every sample draws units, the same for all systems, and the random effect of seeds on each system's mean. For the
    latter, the multi-bootstrap of Sellam et al. 2022 draws seeds with replacement, which says little with three of
    them; here it is drawn from Student's distribution with the variance between seeds, less the part of it that
    drawing units already shows. A system with one seed counts as if further seeds gave the same result.
    """
    if len({len(rows) for rows in (*ours, *theirs)}) != 1:
        raise ValueError("results of different units cannot be paired")
    if len(ours) == len(theirs) == 1:
        return compare(measure, ours[0], theirs[0], samples, seed)
    true = _mean_score(measure, ours) - _mean_score(measure, theirs)
    if len(ours[0]) < 2:
        return Comparison(true, np.nan)
    rng = np.random.default_rng([seed, 1])
    freedom = max(1, len(ours) + len(theirs) - 2)
    sampled, variance = np.zeros(samples), 0.0
    for sign, system in ((1, ours), (-1, theirs)):
        scores = np.stack([_scores(measure, rows, samples, seed) for rows in system])  # [seeds, samples]
        sampled += sign * scores.mean(0)
        variance += _between_seeds(measure, system, scores) / len(system)
    return _two_sided(true, sampled + np.sqrt(variance) * rng.standard_t(freedom, samples))


def _between_seeds(measure: Measurement, system: Sequence[Statistics], scores: npt.NDArray[np.float64]) -> float:
    """The variance between the seeds of a system, beyond what `scores` [seeds, samples] vary by their units."""
    if len(system) < 2:
        return 0.0
    whole = np.var([measure.score_of(rows.sum(0)) for rows in system], ddof=1)
    by_units = np.nanvar(scores - scores.mean(0), axis=1).sum() / (len(system) - 1)
    return max(0.0, float(whole - by_units))


def _mean_score(measure: Measurement, system: Sequence[Statistics]) -> float:
    return float(np.mean([measure.score_of(rows.sum(0)) for rows in system]))


def _two_sided(true: float, sampled: npt.NDArray[np.float64]) -> Comparison:
    sampled = sampled[~np.isnan(sampled)]
    if np.isnan(true) or not len(sampled):
        return Comparison(true, np.nan)
    as_far = np.abs(sampled - sampled.mean()) >= abs(true)
    return Comparison(float(true), float((as_far.sum() + 1) / (len(sampled) + 1)))


def _scores(measure: Measurement, rows: Statistics, samples: int, seed: int) -> npt.NDArray[np.float64]:
    return np.array([measure.score_of(total) for total in bootstrap_counts(len(rows), samples, seed) @ rows])
