"""What an evaluation leaves behind: a JSON file that tables, tests between systems and reports are made from.

Measurements are kept with the statistics of each document (or segment), so that two systems can be compared later
without their translations. Undefined scores are null.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationError

from fenster import __version__
from fenster.config import Config
from fenster.errors import InputError
from fenster.evaluate.metrics.base import Measurement
from fenster.evaluate.metrics.sacrebleu_adapter import Statistics
from fenster.evaluate.significance import SAMPLES, Comparison, compare_seeds, interval
from fenster.evaluate.system import System
from fenster.io.files import TextFiles, atomic_text

Kind = Literal["translation", "contrastive", "items", "distance", "attention"]
Unit = Literal["documents", "segments"]


class Score(Config):
    """A measurement with its confidence interval."""

    name: str
    score: float | None
    low: float | None = None
    high: float | None = None
    higher: bool = True
    formula: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    signature: str = ""
    details: dict[str, Any] = Field(default_factory=dict)
    unseen: float | None = None
    """The score without segments that are in the training data, where that is known; None for whole documents."""
    rows: tuple[tuple[float, ...], ...] = ()
    """Statistics of each unit that is drawn: a document, or a segment. Intervals and tests need two of them."""

    @property
    def is_variant(self) -> bool:
        """True for variants of another score, which tables leave out."""
        return self.name.endswith(")")

    def measurement(self) -> Measurement:
        rows = np.array(self.rows, dtype=float)
        return Measurement(
            self.name,
            self.formula,
            rows,
            np.arange(len(rows)),
            self.signature,
            self.parameters,
            higher=self.higher,
        )

    def against(self, other: Score) -> Comparison | None:
        """A paired test; None if the two have no units in common."""
        return compare_scores([self], [other])


class Result(Config):
    kind: Kind
    system: System
    test: str
    """The test set's name."""
    variant: str = ""
    """Of a kind that has several, such as the context given to items."""
    unit: Unit = "documents"
    names: tuple[str, ...] = ()
    """Of the units, where they are documents."""
    segments: int = 0
    scores: tuple[Score, ...] = ()
    skipped: tuple[str, ...] = ()
    """Metrics that were left out, and why."""
    table: tuple[dict[str, Any], ...] = ()
    """Lines of a breakdown: categories, bins, shares by layer."""
    extra: dict[str, Any] = Field(default_factory=dict)
    files: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """What was read, relative to the result's own folder: hypotheses, and test, or source and references."""
    version: str = ""
    """Of fenster."""

    def score(self, name: str) -> Score | None:
        return next((score for score in self.scores if score.name == name), None)

    def write(self, path: Path) -> None:
        with atomic_text(path) as stream:
            made = self.model_copy(update={"version": __version__})
            stream.write(made.model_dump_json(exclude_defaults=True) + "\n")

    @classmethod
    def read(cls, path: Path) -> Result:
        """As `write` left it, or compressed (`.json.xz`, as large ones are)."""
        text = "\n".join(line for _, line in TextFiles().lines(path))
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise InputError(
                f"not a result ({error.error_count()} errors)",
                path=path,
                expected="what `fenster evaluate`, `contrapro`, `items`, `distance` or `attention` wrote",
            ) from None


def compare_scores(ours: Sequence[Score], theirs: Sequence[Score]) -> Comparison | None:
    """A paired test of one system's scores, of one seed or several, against another's; None if they are of different
    kinds, or have no units in common."""
    first = ours[0]
    for score in (*ours, *theirs):
        same = all(getattr(score, key) == getattr(first, key) for key in ("formula", "parameters", "signature"))
        if not same or len(score.rows) != len(first.rows):
            return None
    our_rows, their_rows = ([score.measurement().statistics for score in scores] for scores in (ours, theirs))
    return compare_seeds(first.measurement(), our_rows, their_rows)


def is_result(path: Path) -> bool:
    """False for JSON of another kind. A damaged result counts as one, so that reading it tells what is wrong."""
    start = "".join(line for _, line in islice(TextFiles().lines(path), 3))
    return re.match(r'\s*\{\s*"kind"\s*:', start) is not None


def resampling_unit(documents: int, wanted: Unit = "documents") -> Unit:
    """What is resampled: a single document has only its segments."""
    return wanted if documents > 1 else "segments"


def with_intervals(
    measurements: Sequence[Measurement],
    documents: int,
    unit: Unit,
    samples: int = SAMPLES,
    seen: npt.NDArray[np.bool_] | None = None,
) -> tuple[Score, ...]:
    """Measurements with intervals over documents or segments; `documents` is how many there are. Measurements of
    whole documents resample those in any case. `seen` marks the segments that the training data has, too."""
    scores = []
    for measure in measurements:
        rows = measure.by_document(documents) if unit == "documents" else measure.statistics
        around = interval(measure, rows, samples)
        scores.append(
            Score(
                name=measure.name,
                score=_number(measure.score),
                low=_number(around.low),
                high=_number(around.high),
                higher=measure.higher,
                formula=measure.formula,
                parameters=dict(measure.parameters),
                signature=measure.signature,
                details=_plain(dict(measure.details)),
                unseen=_unseen(measure, seen),
                rows=_tuples(rows),
            )
        )
    return tuple(scores)


def _unseen(measure: Measurement, seen: npt.NDArray[np.bool_] | None) -> float | None:
    if seen is None or len(measure.statistics) != len(seen) or seen.all():
        return None
    return _number(measure.score_of(measure.statistics[~seen].sum(0)))


def _tuples(rows: Statistics) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in rows.tolist())


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _plain(value: Any) -> Any:
    """As JSON has it: NaN becomes null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return _number(float(value)) if isinstance(value, float | np.floating) else value
