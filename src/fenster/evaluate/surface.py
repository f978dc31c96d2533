"""BLEU, TER and chrF through sacrebleu, with its signatures, and BLEU over whole documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from fenster.evaluate.measure import Measure, Rows
from fenster.evaluate.texts import Evaluated


def surface(texts: Evaluated) -> list[Measure]:
    """All of them, in the order of tables."""
    outputs, references, owner = texts.outputs, texts.references, texts.owner
    found = []
    for name, formula, metric, higher in (
        ("BLEU", "bleu", BLEU(), True),
        ("TER", "ter", TER(), False),
        ("chrF", "chrf", CHRF(), True),
    ):
        rows, signature = _statistics(metric, outputs, references)
        found.append(Measure(name, formula, rows, owner, signature, higher=higher))
    whole = [" ".join(each) for each in texts.hypotheses]
    joined = [
        [" ".join(_texts(texts, number, each)) for each in range(len(whole))] for number in range(len(references))
    ]
    rows, signature = _statistics(BLEU(), whole, joined)
    found.insert(1, Measure("d-BLEU", "bleu", rows, np.arange(len(whole)), f"{signature}|unit:document"))
    return found


def _texts(texts: Evaluated, reference: int, document: int) -> list[str]:
    pair = texts.documents[document]
    return (pair.target, *pair.references)[reference].texts


def _statistics(metric: Metric, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[Rows, str]:
    """One row of sacrebleu's own statistics for each segment, as its significance tests use them."""
    rows = metric._extract_corpus_statistics(list(outputs), [list(each) for each in references])
    return np.array(rows, dtype=float), str(metric.get_signature())
