"""Training data that is too large for one index: shards in random order, some at a time.

Each epoch deals all shards out into portions. A portion is indexed, shuffled and cut into batches by itself, and only
the present one is held (and, while it is made, the one before), so memory and the time until the first update do not
grow with the corpus. Examples of different portions never share a batch, and documents that are versions of one are
recognised only within a portion.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fenster.data.context import BaseContext
from fenster.data.dataset import Split
from fenster.data.examples import ExampleIndex
from fenster.data.loader import DataPosition
from fenster.data.sampler import BatchConfig, Plan, Sampler
from fenster.data.tokenizer import Longs


class Portions:
    """Makes the plan of any portion of any epoch; everything is one portion unless `config.shards` says otherwise."""

    def __init__(
        self, split: Split, context: BaseContext, config: BatchConfig, *, weights: Sequence[float] | None = None
    ) -> None:
        self._split, self._context, self._config, self._weights = split, context, config, weights
        self._size = max(1, min(config.shards or len(split.shards), len(split.shards)))
        self.portions = max(1, -(-len(split.shards) // self._size))
        self._numbers: Longs | None = None
        self._sampler = self.sampler(0, 0)
        self._first = max(1, len(self.plan(0)))

    @property
    def batches(self) -> int:
        """Of an epoch; with several portions estimated from the first."""
        return self._first * self.portions

    def describe(self) -> str:
        """For the log of a run."""
        sampler, several = self.sampler(0, 0), self.portions > 1
        text = (
            f"{len(sampler.index):,} examples{f' in the first of {self.portions:,} portions' if several else ''}, "
            f"{'about ' if several else ''}{self.batches:,} batches of up to {self._config.tokens:,} tokens per epoch"
        )
        if sampler.oversize:
            text += f"; {sampler.oversize:,} examples are longer than that: each is a batch of its own"
        return text

    def epochs(self, position: DataPosition) -> float:
        """How many have been seen."""
        return position.epoch + (position.portion + min(1.0, position.batch / self._first)) / self.portions

    def sampler(self, epoch: int, portion: int) -> Sampler:
        """Of the portion's shards; the one before is let go."""
        numbers = self.shards(epoch, portion)
        if self._numbers is None or not np.array_equal(numbers, self._numbers):
            index = ExampleIndex.build(self._split, self._context, numbers.tolist())
            self._sampler = Sampler(index, self._config, weights=self._weights, partial=self.portions > 1)
            self._numbers = numbers
        return self._sampler

    def plan(self, epoch: int, portion: int = 0) -> Plan:
        return self.sampler(epoch, portion).plan(epoch, portion)

    def shards(self, epoch: int, portion: int) -> Longs:
        """The numbers of a portion's shards, ascending."""
        if self.portions == 1:
            return np.arange(len(self._split.shards))
        rng = np.random.default_rng([self._config.seed, epoch, 0, 1])  # not the numbers of any portion's plan
        dealt = rng.permutation(len(self._split.shards))[portion * self._size : (portion + 1) * self._size]
        return np.sort(dealt)
