"""Is a document consistent in itself? Beyond the paper; a human translation is not wholly so either, so the
reference's own figure is always given beside the system's.

- register: of a document's 2nd-person forms, the share in its majority register;
- terms: of the occurrences of source words that a document repeats, the share that has the word's majority
  translation. A word's translation is found with IBM model 1, learned from the test set itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fenster.evaluate.metrics.base import Measurement, Metric
from fenster.evaluate.metrics.form_f1 import FormCounter
from fenster.evaluate.metrics.sacrebleu_adapter import Statistics
from fenster.evaluate.tagging.tokens import words
from fenster.evaluate.test_set import TranslatedTestSet

FORMALITY = "formality"  # the score of the rules that registers belong to
_SHORTEST = 4  # letters of a term
_STEM = 5  # letters that two translations share to count as one, so that inflection does not matter
_COMMON = 0.02  # words in more than this share of all segments (and in more than 10) are not terms
_ROUNDS = 5  # of EM


class RegisterConsistency(Metric):
    """Share of forms in each document's majority class of a score."""

    label = "register consistency"
    needs_source = True
    needs_counter = True

    def why_skipped(self, test_set: TranslatedTestSet, counter: FormCounter | None) -> str | None:
        reason = super().why_skipped(test_set, counter)
        if reason is None and counter is not None and FORMALITY not in counter.rules.scores:
            return f"the rules have no score called {FORMALITY}"
        return reason

    def measure(self, test_set: TranslatedTestSet, counter: FormCounter | None) -> list[Measurement]:
        assert counter is not None
        active = counter.active(FORMALITY, test_set.sources)
        system = _majority(counter.count(FORMALITY, active, test_set.outputs), test_set)
        human = _majority(counter.count(FORMALITY, active, test_set.references[0]), test_set)
        return [_measurement(self.label, system, human, counter.signature)]


class TermConsistency(Metric):
    """Share of the occurrences of repeated source words that are translated as most of them are."""

    label = "term consistency"
    needs_source = True

    def measure(self, test_set: TranslatedTestSet, counter: FormCounter | None = None) -> list[Measurement]:
        sources = [_content(text) for text in test_set.sources]
        spread = Counter(word for sentence in sources for word in set(sentence))
        most = max(10, _COMMON * len(sources))
        terms = [
            [word for word in dict.fromkeys(sentence) if len(word) >= _SHORTEST and spread[word] <= most]
            for sentence in sources
        ]
        sides = [[_content(text) for text in side] for side in (test_set.outputs, test_set.references[0])]
        model = _Translations(sources * 2, sides[0] + sides[1])
        system, human = (_agreeing(test_set, terms, side, model) for side in sides)
        return [_measurement(self.label, system, human, f"alignment:IBM1|stem:{_STEM}|common:{_COMMON}")]


def _agreeing(
    test_set: TranslatedTestSet, terms: Sequence[Sequence[str]], side: Sequence[Sequence[str]], model: _Translations
) -> Statistics:
    """[documents, (occurrences with the majority translation, all)] of the terms that a document repeats."""
    sums = np.zeros((len(test_set.documents), 2))
    begin = 0
    for number, document in enumerate(test_set.documents):
        translations: dict[str, list[str]] = defaultdict(list)
        for segment in range(begin, begin + len(document)):
            for word in terms[segment]:
                translations[word].append(model.best(word, side[segment])[:_STEM])
        begin += len(document)
        for stems in translations.values():
            if len(stems) > 1:
                known = Counter(filter(None, stems))  # an empty translation agrees with nothing
                sums[number] += max(known.values(), default=0), len(stems)
    return sums


def _measurement(name: str, system: Statistics, human: Statistics, signature: str) -> Measurement:
    total = human.sum(0)
    details = {"reference": 100 * total[0] / total[1] if total[1] else np.nan, "cases": int(system[:, 1].sum())}
    return Measurement(name, "share", system, np.arange(len(system)), signature, details=details)


def _majority(counts: npt.NDArray[np.int64], test_set: TranslatedTestSet) -> Statistics:
    """[documents, (in the majority, all)]"""
    sums = np.zeros((len(test_set.documents), counts.shape[1]))
    np.add.at(sums, test_set.document_index, counts)
    return np.stack([sums.max(1), sums.sum(1)], axis=1)


def _content(text: str) -> list[str]:
    return [word for word in words(text.lower()) if word[0].isalpha()]


class _Translations:
    """IBM model 1: how likely a target word is, given a source word."""

    def __init__(self, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> None:
        self._source, self._target = _Numbers(), _Numbers()
        left, right, target_index, seen = [], [], [], 0
        for source, target in zip(sources, targets, strict=True):
            a, b = self._source.of(source), self._target.of(target)
            left.append(np.repeat(a, len(b)))
            right.append(np.tile(b, len(a)))
            target_index.append(np.tile(np.arange(seen, seen + len(b)), len(a)))
            seen += len(b)
        lefts, rights, places = (
            np.concatenate([np.zeros(0, dtype=np.int64), *columns]) for columns in (left, right, target_index)
        )
        self._keys, pair = np.unique(lefts * len(self._target) + rights, return_inverse=True)
        source_word = self._keys // max(1, len(self._target))
        self._likely = np.ones(len(self._keys))
        for _ in range(_ROUNDS):
            weight = self._likely[pair]
            weight = weight / np.bincount(places, weight, minlength=seen)[places]
            counts = np.bincount(pair, weight, minlength=len(self._keys))
            self._likely = counts / np.bincount(source_word, counts)[source_word]

    def best(self, word: str, candidates: Sequence[str]) -> str:
        """The most likely translation among `candidates`; "" if there is none."""
        if not candidates:
            return ""
        wanted = self._source.of([word])[0] * len(self._target) + self._target.of(candidates)
        at = np.searchsorted(self._keys, wanted).clip(max=len(self._keys) - 1)
        likely = np.where(self._keys[at] == wanted, self._likely[at], 0)
        return candidates[int(likely.argmax())]


class _Numbers(dict[str, int]):
    def of(self, names: Sequence[str]) -> npt.NDArray[np.int64]:
        return np.array([self.setdefault(name, len(self)) for name in names], dtype=np.int64)
