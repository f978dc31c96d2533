"""From documents to examples: how much context a system sees (SPEC 4.1).

- `sentence`: each sentence alone;
- `adjacent`: each sentence after its k predecessors, `<bod>` standing for sentence 0 of the document;
- `document`: the whole document, split at sentence ends into parts of roughly equal length of at most `limit`
  target tokens; or never split (`limit: null`).

An `ExampleIndex` holds only numbers (where each example begins, how long it is), so epochs can be planned
without touching text; ids are read from the shards when an example is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fenster.config import Config
from fenster.shards import Shard, Side, Split
from fenster.tokenize import BOD_ID, EOS_ID, SEP_ID, Longs

Ints = npt.NDArray[np.int32]


class SentenceContext(Config):
    kind: Literal["sentence"] = "sentence"


class AdjacentContext(Config):
    kind: Literal["adjacent"] = "adjacent"
    k: int = Field(default=2, ge=1)
    """Preceding sentences; the paper's "2 sent." is k = 2, three sentences in all."""


class DocumentContext(Config):
    kind: Literal["document"] = "document"
    limit: int | None = Field(default=1000, ge=1)
    """Most target tokens of a part, separators included; null never splits."""
    bod: bool = False
    """Begin the first part of a document with `<bod>`; the paper does so for `adjacent` only."""


ContextConfig = Annotated[SentenceContext | AdjacentContext | DocumentContext, Field(discriminator="kind")]


@dataclass(frozen=True)
class Joined:
    """One side of an example: sentences joined with `<sep>`, ended with `<eos>`.

    A `<sep>` or `<eos>` belongs to the sentence it ends. On the target side position i is the token being
    predicted, so `sentence[i]` also is the sentence of the decoder's input there (BOS and `<sep>` acting as
    the start of the sentence that follows them). `<bod>` with its `<sep>` counts as a sentence.
    """

    ids: Ints  # [L]
    sentence: Ints  # [L] index of each token's sentence, from 0
    starts: Ints  # [N + 1] sentence n is ids[starts[n] : starts[n + 1]], its end symbol included

    @property
    def sentences(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True)
class Example:
    """What a model is trained on or scored with: the two sides have the same number of sentences."""

    source: Joined
    target: Joined
    bod: bool
    """Whether sentence 0 is `<bod>`."""
    name: str
    first: int
    """Index in its document of the first real sentence."""


def join(sentences: Sequence[npt.NDArray[np.integer] | Sequence[int]], *, bod: bool = False) -> Joined:
    """Sentences to one sequence: `[<bod> <sep>] F_1 <sep> … <sep> F_n <eos>`."""
    parts = [np.asarray(sentence, dtype=np.int32) for sentence in sentences]
    if bod:
        parts.insert(0, np.array([BOD_ID], dtype=np.int32))
    lengths = np.array([len(part) + 1 for part in parts], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    ids = np.full(starts[-1], SEP_ID, dtype=np.int32)
    for start, part in zip(starts, parts, strict=False):
        ids[start : start + len(part)] = part
    ids[-1] = EOS_ID
    return Joined(ids, np.repeat(np.arange(len(parts), dtype=np.int32), lengths), starts)


def begins(context: ContextConfig, first: int, given: int) -> bool:
    """Whether a model trained with `context` expects `<bod>` before sentences from `first` of a document on, when the
    one in question comes after `given` of them. The same as in training: with fewer than k predecessors, or at the
    beginning of a document."""
    if context.kind == "adjacent":
        return given < context.k
    return context.kind == "document" and context.bod and first == 0


def split_points(lengths: npt.NDArray[np.integer], limit: int | None) -> Longs:
    """Where to split a document into parts: [0, …, N], part p being sentences points[p] : points[p + 1].

    `lengths` are target tokens of each sentence, its end symbol included. The smallest number of parts P is
    taken with which no part exceeds `limit`, cut at the sentence ends nearest to p * T / P. A single sentence
    above the limit is a part of its own.
    """
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    total, count = int(ends[-1]), len(lengths)
    if limit is None or total <= limit or count <= 1:
        return np.array([0, count], dtype=np.int64)
    for parts in range(math.ceil(total / limit), count + 1):
        wanted = np.arange(1, parts) * (total / parts)
        after = np.searchsorted(ends, wanted).clip(1, count)
        nearest = np.where(wanted - ends[after - 1] <= ends[after] - wanted, after - 1, after)
        points = np.unique(np.concatenate([[0], nearest, [count]]))
        sizes = np.diff(ends[points])
        if np.all((sizes <= limit) | (np.diff(points) == 1)):
            return points
    return np.arange(count + 1, dtype=np.int64)


@dataclass(frozen=True)
class ExampleIndex:
    """Every example of a split by number: where it is and how long it is, separators included."""

    split: Split
    shard: npt.NDArray[np.uint16]  # [E]
    document: Ints  # [E] within the shard
    first: Ints  # [E] first sentence within the shard
    count: Ints  # [E] sentences, `<bod>` not counted
    bod: npt.NDArray[np.bool_]  # [E]
    source_lengths: Ints  # [E] tokens
    target_lengths: Ints  # [E] tokens

    @classmethod
    def build(cls, split: Split, config: ContextConfig) -> ExampleIndex:
        columns: list[tuple[Longs, ...]] = []
        for number, shard in enumerate(split.shards):
            document, first, count, bod = _places(shard, config)
            lengths = [
                side.starts[first + count] - side.starts[first] + count + 2 * bod
                for side in (shard.source, shard.target)
            ]
            columns.append((np.full_like(first, number), document, first, count, bod, *lengths))
        joined = [np.concatenate(column) for column in zip(*columns, strict=True)] if columns else [_EMPTY] * 7
        shards, document, first, count, bod, source, target = joined
        return cls(
            split,
            shards.astype(np.uint16),
            document.astype(np.int32),
            first.astype(np.int32),
            count.astype(np.int32),
            bod.astype(np.bool_),
            source.astype(np.int32),
            target.astype(np.int32),
        )

    def __len__(self) -> int:
        return len(self.shard)

    def example(self, number: int) -> Example:
        """Read one example from the shards."""
        shard = self.split.shards[self.shard[number]]
        document, first, count = int(self.document[number]), int(self.first[number]), int(self.count[number])
        bod = bool(self.bod[number])

        def side(of: Side) -> Joined:
            return join([of.sentence(n) for n in range(first, first + count)], bod=bod)

        return Example(
            side(shard.source),
            side(shard.target),
            bod,
            shard.names[document],
            first - int(shard.document_starts[document]),
        )


_EMPTY: Longs = np.zeros(0, dtype=np.int64)


def _places(shard: Shard, config: ContextConfig) -> tuple[Longs, Longs, Longs, Longs]:
    """(document, first sentence, sentences, bod) of every example of a shard."""
    begins, ends = shard.document_starts[:-1], shard.document_starts[1:]
    sentences = np.arange(ends[-1] if len(ends) else 0, dtype=np.int64)
    document = np.repeat(np.arange(shard.documents, dtype=np.int64), ends - begins)
    if config.kind == "sentence":
        return document, sentences, np.ones_like(sentences), np.zeros_like(sentences)
    if config.kind == "adjacent":
        place = sentences - begins[document]  # sentences before this one
        before = np.minimum(place, config.k)
        return document, sentences - before, before + 1, (place < config.k).astype(np.int64)
    lengths = shard.target.lengths + 1
    points = [split_points(lengths[begin:end], config.limit) for begin, end in zip(begins, ends, strict=True)]
    document = np.repeat(np.arange(shard.documents, dtype=np.int64), [len(point) - 1 for point in points])
    first = np.concatenate([_EMPTY, *(begin + point[:-1] for begin, point in zip(begins, points, strict=True))])
    count = np.concatenate([_EMPTY, *(np.diff(point) for point in points)])
    bod = (first == begins[document]).astype(np.int64) * int(config.bod)
    return document, first, count, bod
