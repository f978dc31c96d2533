"""How much context a system sees, and which sentences form a sequence; only this module decides that.

- `sentence`: each sentence alone;
- `adjacent`: each sentence after its k predecessors, `<bod>` standing for sentence 0 of the document;
- `document`: the whole document, split at sentence ends into parts of roughly equal length of at most `limit`
  target tokens; or never split (`limit: null`).

Training, scoring, decoding and analysis all use it. `spans` are the sequences of training, in which each sentence
counts once; `blocks` cover a document without overlap, as full-segment decoding searches it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fenster.config import Config
from fenster.data.tokenizer import Ids, Longs

SENTENCE_TOKENS = 25  # what a sentence counts as, in tables and plots


class Span(NamedTuple):
    """Sentences first … end - 1 of a document as one sequence; those before `begin` are context only."""

    first: int
    begin: int
    end: int
    bod: bool
    """True if the sequence starts with `<bod>`."""


@dataclass(frozen=True)
class Spans:
    """Spans of several documents; sentences are counted over all of them."""

    document: Longs  # [E]
    first: Longs  # [E]
    begin: Longs  # [E]
    end: Longs  # [E]
    bod: npt.NDArray[np.bool_]  # [E]

    def __iter__(self) -> Iterator[Span]:
        columns = (self.first.tolist(), self.begin.tolist(), self.end.tolist(), self.bod.tolist())
        return (Span(*row) for row in zip(*columns, strict=True))


class BaseContext(Config, ABC):
    """A kind of context. `lengths` are target tokens of each sentence, its end symbol included; `starts` [D + 1] are
    the first sentences of the documents, one document if left out."""

    overlapping: ClassVar[bool] = False
    """True if spans share context sentences, so that only the last of each span counts."""

    @abstractmethod
    def spans(self, lengths: Longs, starts: Longs | None = None) -> Spans:
        """The sequences of training."""

    def blocks(self, lengths: Longs) -> Spans:
        """One document as sequences without overlap."""
        return self.spans(lengths)

    @abstractmethod
    def starts_with_bod(self, first: int, given: int) -> bool:
        """True if a sequence that starts at sentence `first` must begin with `<bod>`, as in training; `given` is the
        number of context sentences before the current one."""

    @property
    @abstractmethod
    def preceding(self) -> int | None:
        """Context sentences before the current one; None for as many as there are."""

    @property
    @abstractmethod
    def label(self) -> str:
        """As the paper's tables name it: 0 sent., 2 sent., 1000 tok."""

    @property
    @abstractmethod
    def tokens(self) -> float | None:
        """The context in tokens, for order and plots; None if it is not limited."""

    @abstractmethod
    def describe(self) -> str:
        """For model cards."""


class SentenceContext(BaseContext):
    kind: Literal["sentence"] = "sentence"

    def spans(self, lengths: Longs, starts: Longs | None = None) -> Spans:
        number, document, _ = _sentences(lengths, starts)
        return Spans(document, number, number, number + 1, np.zeros(len(number), dtype=np.bool_))

    def starts_with_bod(self, first: int, given: int) -> bool:
        return False

    @property
    def preceding(self) -> int:
        return 0

    @property
    def label(self) -> str:
        return "0 sent."

    @property
    def tokens(self) -> float:
        return 0.0

    def describe(self) -> str:
        return "single sentences"


class AdjacentContext(BaseContext):
    kind: Literal["adjacent"] = "adjacent"
    k: int = Field(default=2, ge=1)
    """Preceding sentences; the paper's "2 sent." is k = 2, three sentences in all."""

    overlapping: ClassVar[bool] = True

    def spans(self, lengths: Longs, starts: Longs | None = None) -> Spans:
        number, document, before = _sentences(lengths, starts)
        return Spans(document, number - np.minimum(before, self.k), number, number + 1, before < self.k)

    def blocks(self, lengths: Longs) -> Spans:
        """Blocks of k + 1 sentences; `<bod>` takes a place in the first."""
        count = len(lengths)
        points = np.array([0, *range(min(self.k, count), count, self.k + 1), count], dtype=np.int64)
        return _parts(np.unique(points), bod=True)

    def starts_with_bod(self, first: int, given: int) -> bool:
        return given < self.k

    @property
    def preceding(self) -> int:
        return self.k

    @property
    def label(self) -> str:
        return f"{self.k} sent."

    @property
    def tokens(self) -> float:
        return float(SENTENCE_TOKENS * self.k)

    def describe(self) -> str:
        return f"each sentence after its {self.k} predecessors"


class DocumentContext(BaseContext):
    kind: Literal["document"] = "document"
    limit: int | None = Field(default=1000, ge=1)
    """Most target tokens of a part, separators included; null never splits."""
    bod: bool = False
    """Begin the first part of a document with `<bod>`; the paper does so for `adjacent` only."""

    def spans(self, lengths: Longs, starts: Longs | None = None) -> Spans:
        starts = np.array([0, len(lengths)], dtype=np.int64) if starts is None else starts
        parts = []
        for document, (begin, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
            points = begin + split_points(lengths[begin:end], self.limit)
            parts.append(_parts(points, self.bod, document))
        return _concatenate(parts)

    def starts_with_bod(self, first: int, given: int) -> bool:
        return self.bod and first == 0

    @property
    def preceding(self) -> None:
        return None

    @property
    def label(self) -> str:
        return f"{self.limit} tok." if self.limit else "document"

    @property
    def tokens(self) -> float | None:
        return None if self.limit is None else float(self.limit)

    def describe(self) -> str:
        return "whole documents" + (f" in parts of at most {self.limit} target tokens" if self.limit else "")


ContextConfig = Annotated[SentenceContext | AdjacentContext | DocumentContext, Field(discriminator="kind")]


def estimated_lengths(source: Sequence[Ids], ratio: float) -> Longs:
    """Target tokens of each sentence, end symbols included, as the source and the source/target ratio suggest. Ends
    are rounded, not lengths, so that those of many sentences add up to source / ratio."""
    ends = np.cumsum([0, *(len(sentence) + 1 for sentence in source)]) / ratio
    rounded: Longs = np.floor(ends + 0.5).astype(np.int64)
    lengths: Longs = np.maximum(rounded[1:] - rounded[:-1], 1)
    return lengths


def split_points(lengths: npt.NDArray[np.integer], limit: int | None) -> Longs:
    """Where to split a document into parts: [0, …, N], part p being sentences points[p] : points[p + 1].

    `lengths` are target tokens of each sentence, its end symbol included. The smallest number of parts P is
    taken with which no part exceeds `limit`, cut at the sentence ends nearest to p * T / P. A single sentence
    above the limit is a part of its own; what lies before and after it is split by itself.
    """
    count = len(lengths)
    if limit is None or count <= 1:
        return np.array([0, count], dtype=np.int64)
    long = np.flatnonzero(np.asarray(lengths) > limit)
    points = [0]
    for begin, end in zip([0, *(long + 1).tolist()], [*long.tolist(), count], strict=True):
        points += (begin + _even_points(np.asarray(lengths[begin:end]), limit)).tolist()
        points += [end + 1] if end < count else []  # the long sentence itself
    return np.unique(np.array(points, dtype=np.int64))


def _even_points(lengths: npt.NDArray[np.integer], limit: int) -> Longs:
    """The same for sentences that all fit."""
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    total, count = int(ends[-1]), len(lengths)
    for parts in range(max(1, math.ceil(total / limit)), count + 1):
        wanted = np.arange(1, parts) * (total / parts)
        after = np.searchsorted(ends, wanted).clip(1, count)
        nearest = np.where(wanted - ends[after - 1] <= ends[after] - wanted, after - 1, after)
        points = np.unique(np.concatenate([[0], nearest, [count]]))
        if np.all(np.diff(ends[points]) <= limit):
            return points
    return np.arange(count + 1, dtype=np.int64)


def _sentences(lengths: Longs, starts: Longs | None) -> tuple[Longs, Longs, Longs]:
    """(number, document, sentences of the document before it) of each sentence."""
    number = np.arange(len(lengths), dtype=np.int64)
    starts = np.array([0, len(lengths)], dtype=np.int64) if starts is None else starts
    document = np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))
    return number, document, number - starts[document]


def _parts(points: Longs, bod: bool, document: int = 0) -> Spans:
    """Sequences between points; only the first may begin with `<bod>`."""
    first, end = points[:-1], points[1:]
    opening = np.zeros(len(first), dtype=np.bool_)
    opening[:1] = bod
    return Spans(np.full_like(first, document), first, first, end, opening)


def _concatenate(parts: Sequence[Spans]) -> Spans:
    if not parts:
        none: Longs = np.zeros(0, dtype=np.int64)
        return Spans(none, none, none, none, none.astype(np.bool_))
    return Spans(
        np.concatenate([part.document for part in parts]),
        np.concatenate([part.first for part in parts]),
        np.concatenate([part.begin for part in parts]),
        np.concatenate([part.end for part in parts]),
        np.concatenate([part.bod for part in parts]),
    )
