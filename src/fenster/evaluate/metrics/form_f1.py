"""Pronoun-translation and formality-translation F1: forms of each class, counted in hypothesis and reference.

A sentence counts if its source has a trigger ("it", "you"); classes whose forms would then be ambiguous are
switched off by other source words. Matches are the smaller of both counts, sentence by sentence and class by class.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fenster.evaluate.metrics.base import Measurement, Metric, precision_recall
from fenster.evaluate.rules import Rules
from fenster.evaluate.tagging import Tagger
from fenster.evaluate.tagging.tokens import Tagged
from fenster.evaluate.test_set import TranslatedTestSet

Counts = npt.NDArray[np.int64]
_WORD = re.compile(r"\w+")  # finer than any tagger's tokens, so that nothing is missed


@dataclass(frozen=True)
class FormCounter:
    """Counts forms by the rules; the taggers are for the source and the target language."""

    rules: Rules
    source: Tagger
    target: Tagger
    lowercase: bool = False
    name: str = "en-de"
    """Of the rules."""

    def active(self, score: str, sources: Sequence[str]) -> npt.NDArray[np.bool_]:
        """[N, classes] True if a class counts in a sentence."""
        rules = self.rules.scores[score]
        used = {*rules.trigger, *(group for form_class in rules.classes.values() for group in form_class.unless)}
        # Tagging is slow, so only sentences that hold one of the words at all are tagged.
        forms = frozenset[str]().union(*(self.rules.groups[group] for group in rules.trigger))
        texts = [self._cased(text) for text in sources]
        maybe = [number for number, text in enumerate(texts) if not forms.isdisjoint(_WORD.findall(text))]
        accepted = frozenset(self.rules.tags.source)
        active = np.zeros((len(texts), len(rules.classes)), dtype=bool)
        for number, tagged in zip(maybe, self.source.tag([texts[number] for number in maybe]), strict=True):
            tokens = _accepted(tagged, accepted)
            present = {group for group in used if not self.rules.groups[group].isdisjoint(tokens)}
            if present.intersection(rules.trigger):
                active[number] = [present.isdisjoint(form_class.unless) for form_class in rules.classes.values()]
        return active

    def count(self, score: str, active: npt.NDArray[np.bool_], targets: Sequence[str]) -> Counts:
        """[N, classes] forms of each active class."""
        forms = list(self.rules.forms[score].values())
        anything = frozenset[str]().union(*forms)
        texts = [self._cased(text) for text in targets]
        maybe = [n for n in np.flatnonzero(active.any(1)) if not anything.isdisjoint(_WORD.findall(texts[n]))]
        accepted = frozenset(self.rules.tags.target)
        counts = np.zeros(active.shape, dtype=np.int64)
        for number, tagged in zip(maybe, self.target.tag([texts[n] for n in maybe]), strict=True):
            tokens = _accepted(tagged, accepted)
            counts[number] = [sum(token in class_forms for token in tokens) for class_forms in forms]
        return counts * active

    def _cased(self, text: str) -> str:
        return text.lower() if self.lowercase else text

    @property
    def signature(self) -> str:
        return f"rules:{self.name}|case:{'lc' if self.lowercase else 'mixed'}" + (
            f"|tagger:{self.source.name}"
            if self.source.name == self.target.name
            else f"|taggers:{self.source.name}; {self.target.name}"
        )


def _accepted(tagged: Tagged, tags: frozenset[str]) -> list[str]:
    return [token for token, tag in tagged if not tag or tag in tags]


class FormF1(Metric):
    """F1 of every score in the rules, the main weighting first; variants that differ follow."""

    label = "pronoun F1, formality F1"
    needs_source = True
    needs_counter = True

    def measure(self, test_set: TranslatedTestSet, counter: FormCounter | None) -> list[Measurement]:
        assert counter is not None
        return [measurement for name in counter.rules.scores for measurement in _score(test_set, counter, name)]


def _score(test_set: TranslatedTestSet, counter: FormCounter, name: str) -> list[Measurement]:
    score = counter.rules.scores[name]
    active = counter.active(name, test_set.sources)
    hypothesis = counter.count(name, active, test_set.outputs)
    # Several references: each class may occur as often as in the one that has it most.
    reference = np.max([counter.count(name, active, texts) for texts in test_set.references], axis=0)
    rows = np.concatenate([np.minimum(hypothesis, reference), hypothesis, reference], axis=1).astype(float)
    labels = list(score.classes)
    counts = {
        "reference": dict(zip(labels, reference.sum(0).tolist(), strict=True)),
        "hypothesis": dict(zip(labels, hypothesis.sum(0).tolist(), strict=True)),
        "sentences": int(active.any(1).sum()),
    }
    measurements: list[Measurement] = []
    main = None
    for variant, weights in score.weights.items():
        parameters = {"weights": list(weights)}
        scale = tuple(weight / max(weights) for weight in weights)
        if main == scale:
            continue  # the same figure under another name
        label = f"{name} F1" if main is None else f"{name} F1 ({variant})"
        main = main or scale
        precision, recall = precision_recall(rows.sum(0), parameters)
        details = {"precision": precision, "recall": recall, "counts": counts, "weights": variant}
        measurements.append(
            Measurement(label, "f1", rows, test_set.document_index, counter.signature, parameters, details)
        )
    return measurements
