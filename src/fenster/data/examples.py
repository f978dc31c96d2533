"""Training examples: sentences concatenated as a context says.

An `ExampleIndex` holds only numbers (where each example begins, how long it is), so epochs can be planned
without touching text; ids are read from the shards when an example is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fenster.data.context import BaseContext
from fenster.data.dataset import Shard, Side, Split
from fenster.data.tokenizer import BOD_ID, EOS_ID, SEP_ID, Longs
from fenster.errors import ConfigError

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class ExampleSide:
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

    source: ExampleSide
    target: ExampleSide
    bod: bool
    """True if sentence 0 is `<bod>`."""
    name: str
    first: int
    """Index in its document of the first real sentence."""


def concatenate(sentences: Sequence[npt.NDArray[np.integer] | Sequence[int]], *, bod: bool = False) -> ExampleSide:
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
    return ExampleSide(ids, np.repeat(np.arange(len(parts), dtype=np.int32), lengths), starts)


@dataclass(frozen=True)
class ExampleIndex:
    """The examples of some shards by number: where each is and how long it is, separators included."""

    shards: tuple[Shard, ...]
    shard: npt.NDArray[np.uint16]  # [E] within `shards`
    document: Ints  # [E] within the shard
    first: Ints  # [E] first sentence within the shard
    count: Ints  # [E] sentences, `<bod>` not counted
    bod: npt.NDArray[np.bool_]  # [E]
    source_lengths: Ints  # [E] tokens
    target_lengths: Ints  # [E] tokens

    @cached_property
    def document_number(self) -> Longs:
        """[E] The document of each example, counted over all shards."""
        before = np.cumsum([0, *(shard.documents for shard in self.shards)], dtype=np.int64)
        numbers: Longs = before[self.shard] + self.document
        return numbers

    @cached_property
    def corpora(self) -> Longs:
        """[D] The corpus of each document."""
        columns = [np.zeros(s.documents, np.int64) if s.corpora is None else s.corpora for s in self.shards]
        return np.concatenate([_EMPTY, *columns]).astype(np.int64)

    @cached_property
    def groups(self) -> Longs | None:
        """[D] Documents of the same number are versions of one; None if no document has versions."""
        columns = [shard.groups for shard in self.shards if shard.groups is not None]
        if len(columns) < len(self.shards) or not columns:
            return None
        groups: Longs = np.concatenate(columns)
        return groups if len(np.unique(groups)) < len(groups) else None

    @classmethod
    def build(cls, split: Split, context: BaseContext, numbers: Sequence[int] | None = None) -> ExampleIndex:
        """Over the shards of these numbers; all if left out."""
        shards = tuple(split.shards[number] for number in (range(len(split.shards)) if numbers is None else numbers))
        if len(shards) > _MOST_SHARDS:
            raise ConfigError(
                f"an index of {len(shards):,} shards", expected=f"at most {_MOST_SHARDS:,}", fix="set batch.shards"
            )
        columns: list[tuple[Longs, ...]] = []
        for number, shard in enumerate(shards):
            spans = context.spans(shard.target.lengths + 1, shard.document_starts)
            count = spans.end - spans.first
            lengths = [
                side.starts[spans.end] - side.starts[spans.first] + count + 2 * spans.bod
                for side in (shard.source, shard.target)
            ]
            number_of = np.full_like(count, number)
            columns.append((number_of, spans.document, spans.first, count, spans.bod.astype(np.int64), *lengths))
        joined = [np.concatenate(column) for column in zip(*columns, strict=True)] if columns else [_EMPTY] * 7
        shard_number, document, first, count, bod, source, target = joined
        return cls(
            shards,
            shard_number.astype(np.uint16),
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
        shard = self.shards[self.shard[number]]
        document, first, count = int(self.document[number]), int(self.first[number]), int(self.count[number])
        bod = bool(self.bod[number])

        def side(of: Side) -> ExampleSide:
            return concatenate([of.sentence(n) for n in range(first, first + count)], bod=bod)

        return Example(
            side(shard.source),
            side(shard.target),
            bod,
            shard.names[document],
            first - int(shard.document_starts[document]),
        )


_EMPTY: Longs = np.zeros(0, dtype=np.int64)
_MOST_SHARDS = np.iinfo(np.uint16).max
