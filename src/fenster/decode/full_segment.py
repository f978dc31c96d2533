"""Full-segment decoding (FSD): a block of sentences, or a part of the document, in one search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fenster.context import ContextConfig, split_points
from fenster.decode.beam import Limits
from fenster.decode.job import Job
from fenster.decode.trail import Hypothesis
from fenster.tokenize import EOS_ID, SEP_ID, Ids


@dataclass(frozen=True)
class Block:
    """Sentences first … last (exclusive) of a document that are searched together."""

    first: int
    last: int
    bod: bool

    def job(self, source: Sequence[Ids], most: Sequence[int], *, forced: bool) -> Job:
        """`most` are the limits of the block's own sentences."""
        limits = Limits(tuple(most), forced=forced, least=1 if forced else 0)
        return Job(source[self.first : self.last], (), limits, bod=self.bod)


def blocks(source: Sequence[Ids], context: ContextConfig, ratio: float) -> list[Block]:
    """How the paper cuts a document for a system: blocks of k + 1 sentences without overlap (`<bod>` takes a place in
    the first), or the parts of training, whose target lengths are estimated from the source's."""
    count = len(source)
    if context.kind == "sentence":
        return [Block(number, number + 1, False) for number in range(count)]
    if context.kind == "adjacent":
        size = context.k + 1
        points = [0, *range(min(context.k, count), count, size), count] if count > context.k else [0, count]
        return [Block(a, b, a == 0) for a, b in pairwise(points) if b > a]
    lengths = np.array([round((len(sentence) + 1) / ratio) for sentence in source], dtype=np.int64)
    points = split_points(np.maximum(lengths, 1), context.limit).tolist()
    return [Block(a, b, context.bod and a == 0) for a, b in pairwise(points)]


def sentences(hypothesis: Hypothesis) -> list[tuple[int, ...]]:
    """The sentences of a hypothesis, cut at separators, without end symbols."""
    found: list[tuple[int, ...]] = []
    begin = 0
    for place, token in enumerate(hypothesis.ids):
        if token in (SEP_ID, EOS_ID):
            found.append(hypothesis.ids[begin:place])
            begin = place + 1
    return found


def fitted(found: list[tuple[int, ...]], count: int) -> list[tuple[int, ...]]:
    """Exactly `count` sentences: missing ones are empty, surplus ones are joined to the last."""
    if len(found) > count:
        surplus = tuple(token for sentence in found[count - 1 :] for token in sentence)
        return [*found[: count - 1], surplus]
    return found + [()] * (count - len(found))
