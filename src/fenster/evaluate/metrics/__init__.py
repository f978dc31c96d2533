"""Metrics of a translated test set. A new one is one new file and one line in METRICS, which is the order of
tables."""

from __future__ import annotations

from fenster.evaluate.metrics.base import Measurement, Metric
from fenster.evaluate.metrics.consistency import RegisterConsistency, TermConsistency
from fenster.evaluate.metrics.form_f1 import FormF1
from fenster.evaluate.metrics.surface import Surface
from fenster.registry import Registry

METRICS: Registry[type[Metric]] = Registry(
    "metric",
    {
        "surface": Surface,
        "form-f1": FormF1,
        "register-consistency": RegisterConsistency,
        "term-consistency": TermConsistency,
    },
)

__all__ = ["METRICS", "Measurement", "Metric"]
