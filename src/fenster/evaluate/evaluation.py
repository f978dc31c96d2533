"""All metrics of a translated test set at once: what `fenster evaluate` prints and keeps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fenster.evaluate.metrics import METRICS, Measurement
from fenster.evaluate.metrics.form_f1 import FormCounter
from fenster.evaluate.result import Result, Unit, resampling_unit, with_intervals
from fenster.evaluate.rules import load_rules
from fenster.evaluate.significance import SAMPLES
from fenster.evaluate.system import System
from fenster.evaluate.tagging import TAGGERS
from fenster.evaluate.tagging.remembered import RememberedTags
from fenster.evaluate.test_set import TranslatedTestSet


@dataclass(frozen=True)
class EvaluationOptions:
    rules: str | None = "en-de"
    """None if the language pair has no lists; then neither F1 nor the register is measured."""
    tagger: str = "hanta"
    lowercase: bool = False
    unit: Unit = "documents"
    samples: int = SAMPLES

    def counter(self) -> FormCounter | None:
        if self.rules is None:
            return None
        rules = load_rules(self.rules)
        source, target = (RememberedTags(TAGGERS[self.tagger](language)) for language in (rules.source, rules.target))
        return FormCounter(rules, source, target, self.lowercase, Path(self.rules).stem)


def evaluate(
    test_set: TranslatedTestSet,
    system: System,
    name: str,
    options: EvaluationOptions | None = None,
    seen: npt.NDArray[np.bool_] | None = None,
) -> Result:
    """The result of every metric; those that cannot be measured are listed with the reason. If `seen` marks
    segments that are in the training data, there are scores without them, too."""
    options = options or EvaluationOptions()
    counter = options.counter() if test_set.with_source else None
    measurements: list[Measurement] = []
    skipped = []
    for kind in METRICS.values():
        metric = kind()
        reason = metric.why_skipped(test_set, counter)
        if reason is not None:
            skipped.append(f"{metric.label}: {reason}")
            continue
        measurements += metric.measure(test_set, counter)
    unit = resampling_unit(len(test_set.documents), options.unit)
    names = tuple(document.id for document in test_set.documents) if unit == "documents" else ()
    return Result(
        kind="translation",
        system=system,
        test=name,
        unit=unit,
        names=names,
        segments=len(test_set.outputs),
        scores=with_intervals(measurements, len(test_set.documents), unit, options.samples, seen),
        skipped=tuple(skipped),
    )
