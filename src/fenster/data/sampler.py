"""Which examples make up which batch: token budgets, length buckets, and an order that can be resumed.

A plan follows from (seed, epoch, portion) alone. It lists *global* batches, which `loader` deals out to processes; a
run resumes by remembering only (epoch, portion, batch). Data that fits has one portion; see `portions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from pydantic import Field

from fenster.config import Config
from fenster.data.examples import ExampleIndex
from fenster.data.mixture import Mixture
from fenster.data.tokenizer import Longs
from fenster.errors import FensterError


class BatchConfig(Config):
    """How examples are grouped."""

    tokens: int = Field(default=8_000, ge=1)
    """Most tokens of a batch on each side, separators included."""
    bucket: int = Field(default=1000, ge=1)
    """Sort by length within runs of this many batches' worth of examples: larger means less padding for
    attention that pads, smaller means more random batches."""
    seed: int = Field(default=1, ge=0)
    shards: int | None = Field(default=None, ge=1)
    """Shards of prepared data (of 4M target tokens) that are indexed and shuffled at a time, drawn anew each epoch;
    all if left out. For corpora whose index does not fit into memory."""


@dataclass(frozen=True)
class Waste:
    """How much of a plan's space would hold nothing."""

    packed: float
    """Share of the token budget left unfilled, packed as we do."""
    padded: float
    """Share of padding if every sequence were padded to the longest of its batch (source and target)."""


@dataclass(frozen=True)
class Plan:
    """The batches of an epoch or a portion of it: batch b holds examples order[bounds[b] : bounds[b + 1]]."""

    index: ExampleIndex
    order: Longs
    bounds: Longs

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def batch(self, number: int) -> Longs:
        return self.order[self.bounds[number] : self.bounds[number + 1]]

    def waste(self, tokens: int) -> Waste:
        kept = padded = 0
        filled = 0.0
        for lengths in (self.index.source_lengths, self.index.target_lengths):
            sums = np.add.reduceat(lengths[self.order].astype(np.int64), self.bounds[:-1])
            longest = np.maximum.reduceat(lengths[self.order].astype(np.int64), self.bounds[:-1])
            kept += int(sums.sum())
            padded += int((longest * np.diff(self.bounds)).sum())
            filled = max(filled, float(np.mean(sums / np.maximum(sums, tokens))))
        return Waste(packed=1 - filled, padded=1 - kept / padded)


class Plans(Protocol):
    """What a loader needs: every plan of every epoch."""

    portions: int
    """Of each epoch."""

    def plan(self, epoch: int, portion: int = 0) -> Plan: ...


class Sampler:
    """Makes the plan of any epoch over one index."""

    portions = 1

    def __init__(
        self,
        index: ExampleIndex,
        config: BatchConfig,
        *,
        shuffle: bool = True,
        weights: Sequence[float] | None = None,
        partial: bool = False,
    ) -> None:
        """`weights` of the corpora are for training; without `shuffle` every example comes once, in order. `partial`:
        there is more data, so an epoch may draw nothing of this."""
        if len(index) == 0 and not partial:
            raise FensterError("no examples to make batches of", fix="check the split and its manifest")
        self.index, self.config, self.shuffle, self._partial = index, config, shuffle, partial
        self.mixture = Mixture(index, weights)
        # What an example takes of the budget; the longer side decides.
        self._cost = np.maximum(index.source_lengths, index.target_lengths).astype(np.int64)

    @property
    def oversize(self) -> int:
        """Examples above the budget; each becomes a batch of its own, none is left out."""
        return int(np.sum(self._cost > self.config.tokens))

    def plan(self, epoch: int, portion: int = 0) -> Plan:
        """`portion` says only which random numbers are used: those of portion 0 are the epoch's own."""
        rng = np.random.default_rng([self.config.seed, epoch, portion])
        order = self.mixture.draw(rng) if self.shuffle else np.arange(len(self.index))
        if not len(order) and not self._partial:
            raise FensterError("an epoch has no examples", fix="raise the weights of the corpora (mixture)")
        order = self._bucketed(order)
        bounds = self._cut(order)
        if not self.shuffle:
            return Plan(self.index, order, bounds)
        # Shuffle whole batches, so that lengths do not rise through the epoch.
        moved = rng.permutation(len(bounds) - 1)
        sizes = np.diff(bounds)[moved]
        ends = np.cumsum(sizes)
        inside = np.arange(len(order)) - np.repeat(ends - sizes, sizes)
        return Plan(self.index, order[np.repeat(bounds[:-1][moved], sizes) + inside], np.concatenate([[0], ends]))

    def _bucketed(self, order: Longs) -> Longs:
        """Sort by length within pools of about `bucket` batches each."""
        total = np.cumsum(self._cost[order])
        pools = (total - 1) // (self.config.tokens * self.config.bucket)
        keys = (self.index.source_lengths[order], self.index.target_lengths[order], self._cost[order], pools)
        return order[np.lexsort(keys)]

    def _cut(self, order: Longs) -> Longs:
        """Cut where a side would go over the budget."""
        sides = (self.index.source_lengths, self.index.target_lengths)
        ends = [np.cumsum(lengths[order], dtype=np.int64) for lengths in sides]
        bounds = [0]
        while bounds[-1] < len(order):
            begin = bounds[-1]
            before = [end[begin - 1] if begin else 0 for end in ends]
            # The first example that does not fit any more, on either side.
            fits = min(
                int(np.searchsorted(end, start + self.config.tokens, side="right"))
                for end, start in zip(ends, before, strict=True)
            )
            bounds.append(max(fits, begin + 1))
        return np.array(bounds, dtype=np.int64)
