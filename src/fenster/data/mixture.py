"""Which examples an epoch draws: corpora as often as their weights say, and one version of each document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fenster.data.examples import ExampleIndex
from fenster.data.manifest import CorpusRecord
from fenster.data.tokenizer import Longs
from fenster.errors import ConfigError


class Mixture:
    """Draws the examples of an epoch. `weights` are those of the corpora by number; all 1 if left out."""

    def __init__(self, index: ExampleIndex, weights: Sequence[float] | None = None) -> None:
        self._index = index
        groups = index.groups
        self._groups = np.arange(len(index.corpora)) if groups is None else groups
        self._weights = np.ones(len(index.corpora)) if weights is None else np.asarray(weights)[index.corpora]  # [D]
        self.is_plain = groups is None and bool(np.all(self._weights == 1))
        """True if an epoch is every example once."""
        # The documents of each group are neighbours in this order.
        self._order = np.argsort(self._groups, kind="stable")
        self._first_of_group = np.flatnonzero(np.diff(self._groups[self._order], prepend=-1))

    def draw(self, rng: np.random.Generator) -> Longs:
        """The numbers of an epoch's examples, in random order; an example that is drawn twice appears twice."""
        if self.is_plain:
            return rng.permutation(len(self._index))
        weights = self._weights[self._order[self._first_of_group]]  # [G]
        times = np.floor(weights) + (rng.random(len(weights)) < weights % 1)
        drawn = []
        for repeat in range(int(times.max(initial=0))):
            documents = np.zeros(len(self._groups), dtype=bool)
            documents[self._one_of_each(rng)[times > repeat]] = True
            drawn.append(np.flatnonzero(documents[self._index.document_number]))
        numbers = np.concatenate(drawn) if drawn else np.zeros(0, np.int64)
        return rng.permutation(numbers)

    def _one_of_each(self, rng: np.random.Generator) -> Longs:
        """[G] A document of each group, all versions equally likely."""
        sizes = np.diff(np.append(self._first_of_group, len(self._order)))
        chosen: Longs = self._order[self._first_of_group + (rng.random(len(sizes)) * sizes).astype(np.int64)]
        return chosen


def mixture_weights(corpora: Sequence[CorpusRecord], wanted: Mapping[str, float]) -> list[float] | None:
    """The weight of each corpus, as set for training or else as prepared; None if the data has no corpora."""
    names = [corpus.name for corpus in corpora]
    if unknown := sorted(wanted.keys() - set(names)):
        raise ConfigError(
            f"mixture: no training corpus is called {unknown[0]!r}", expected=", ".join(names) or "none"
        )
    weights = [wanted.get(corpus.name, corpus.weight) for corpus in corpora]
    if weights and not any(weights):
        raise ConfigError("mixture: all weights are 0", expected="at least one corpus to train on")
    return weights or None
