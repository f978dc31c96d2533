"""Is a document consistent in itself? Beyond the paper; a human translation is not wholly so either, so the
reference's own figure is always given beside the system's.

- register: of a document's 2nd-person forms, the share in its majority register;
- terms: of the occurrences of source words that a document repeats, the share that has the word's majority
  translation. A word's translation is found with IBM model 1, learned from the test set itself.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fenster.evaluate.classes import Counter
from fenster.evaluate.measure import Measure, Rows
from fenster.evaluate.tagging.tokens import words
from fenster.evaluate.texts import Evaluated

_SHORTEST = 4  # letters of a term
_STEM = 5  # letters that two translations share to count as one, so that inflection does not matter
_COMMON = 0.02  # words in more than this share of all segments (and in more than 10) are no terms
_ROUNDS = 5  # of EM


def register(texts: Evaluated, counter: Counter, score: str = "formality") -> Measure:
    """Share of forms in each document's majority class of a score."""
    active = counter.active(score, texts.sources)
    system = _majority(counter.count(score, active, texts.outputs), texts)
    human = _majority(counter.count(score, active, texts.references[0]), texts)
    return _measure("register consistency", system, human, counter.signature)


def terms(texts: Evaluated) -> Measure:
    """Share of the occurrences of repeated source words that are translated as most of them are."""
    sources = [_content(text) for text in texts.sources]
    spread = Tally(word for each in sources for word in set(each))
    most = max(10, _COMMON * len(sources))
    sides = [[_content(text) for text in side] for side in (texts.outputs, texts.references[0])]
    model = _Translations(sources * 2, sides[0] + sides[1])
    rows = []
    for side in sides:
        sums = np.zeros((len(texts.documents), 2))
        at = 0
        for number, document in enumerate(texts.documents):
            found: dict[str, list[str]] = defaultdict(list)
            for place in range(at, at + len(document)):
                for word in dict.fromkeys(sources[place]):
                    if len(word) >= _SHORTEST and spread[word] <= most:
                        found[word].append(model.best(word, side[place])[:_STEM])
            at += len(document)
            for each in found.values():
                if len(each) > 1:
                    known = Tally(filter(None, each))  # an empty translation agrees with nothing
                    sums[number] += max(known.values(), default=0), len(each)
        rows.append(sums)
    return _measure("term consistency", rows[0], rows[1], f"alignment:IBM1|stem:{_STEM}|common:{_COMMON}")


def _measure(name: str, system: Rows, human: Rows, signature: str) -> Measure:
    total = human.sum(0)
    details = {"reference": 100 * total[0] / total[1] if total[1] else np.nan, "cases": int(system[:, 1].sum())}
    return Measure(name, "share", system, np.arange(len(system)), signature, details=details)


def _majority(counts: npt.NDArray[np.int64], texts: Evaluated) -> Rows:
    """[documents, (in the majority, all)]"""
    sums = np.zeros((len(texts.documents), counts.shape[1]))
    np.add.at(sums, texts.owner, counts)
    return np.stack([sums.max(1), sums.sum(1)], axis=1)


def _content(text: str) -> list[str]:
    return [word for word in words(text.lower()) if word[0].isalpha()]


class _Translations:
    """IBM model 1: how likely a target word is, given a source word."""

    def __init__(self, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> None:
        self._source, self._target = _Numbers(), _Numbers()
        left, right, place, seen = [], [], [], 0
        for source, target in zip(sources, targets, strict=True):
            a, b = self._source.of(source), self._target.of(target)
            left.append(np.repeat(a, len(b)))
            right.append(np.tile(b, len(a)))
            place.append(np.tile(np.arange(seen, seen + len(b)), len(a)))
            seen += len(b)
        lefts, rights, places = (
            np.concatenate([np.zeros(0, dtype=np.int64), *each]) for each in (left, right, place)
        )
        self._keys, pair = np.unique(lefts * len(self._target) + rights, return_inverse=True)
        owner = self._keys // max(1, len(self._target))
        self._likely = np.ones(len(self._keys))
        for _ in range(_ROUNDS):
            weight = self._likely[pair]
            weight = weight / np.bincount(places, weight, minlength=seen)[places]
            counts = np.bincount(pair, weight, minlength=len(self._keys))
            self._likely = counts / np.bincount(owner, counts)[owner]

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
