"""BLEU, TER and chrF through sacrebleu, with its signatures, and BLEU over whole documents."""

from __future__ import annotations

import numpy as np

from fenster.evaluate.metrics.base import Measurement, Metric
from fenster.evaluate.metrics.form_f1 import FormCounter
from fenster.evaluate.metrics.sacrebleu_adapter import segment_statistics
from fenster.evaluate.test_set import TranslatedTestSet


class Surface(Metric):
    label = "BLEU, d-BLEU, TER, chrF"

    def measure(self, test_set: TranslatedTestSet, counter: FormCounter | None = None) -> list[Measurement]:
        measurements = []
        for name, formula, higher in (("BLEU", "bleu", True), ("TER", "ter", False), ("chrF", "chrf", True)):
            rows, signature = segment_statistics(formula, test_set.outputs, test_set.references)
            measurements.append(Measurement(name, formula, rows, test_set.document_index, signature, higher=higher))
        measurements.insert(1, self._document_bleu(test_set))
        return measurements

    def _document_bleu(self, test_set: TranslatedTestSet) -> Measurement:
        documents = [" ".join(texts) for texts in test_set.hypotheses]
        references = [
            [" ".join((pair.target, *pair.references)[number].texts) for pair in test_set.documents]
            for number in range(len(test_set.references))
        ]
        rows, signature = segment_statistics("bleu", documents, references)
        return Measurement("d-BLEU", "bleu", rows, np.arange(len(documents)), f"{signature}|unit:document")
