"""The plans of a document's segments: each is made when it is first asked for, and dropped when its segment has left,
so that a long document begins at once and needs no more memory than a short one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from fenster.decode.piece import Piece, SegmentPlan
from fenster.decode.strategies import SourceSentence


class PlannedSegment(NamedTuple):
    plan: SegmentPlan
    sentences: tuple[SourceSentence, ...]
    """What a strategy reads of it; those without a known translation are the plan's pieces."""


class DocumentPlan:
    def __init__(self, planned: Iterator[PlannedSegment], count: int) -> None:
        """`planned` are the `count` segments of the document in order."""
        self._coming, self._count = planned, count
        self._plans: dict[int, tuple[SegmentPlan, int]] = {}  # by segment, and the number of its first piece
        self._pieces: dict[int, tuple[int, Piece]] = {}  # by number: what strategies call sentences
        self._planned = self._next_piece = 0
        self._unread: deque[SourceSentence] = deque()

    def __len__(self) -> int:
        """Segments."""
        return self._count

    def __getitem__(self, segment: int) -> SegmentPlan:
        while self._planned <= segment:
            self._plan_next()
        return self._plans[segment][0]

    def piece(self, number: int) -> tuple[int, Piece]:
        """A piece that a strategy has read, after its segment's number."""
        return self._pieces[number]

    def sentences(self) -> Iterator[SourceSentence]:
        while self._unread or self._planned < self._count:
            if self._unread:
                yield self._unread.popleft()
            else:
                self._plan_next()

    def drop(self, segment: int) -> None:
        """The segment has left."""
        plan, first = self._plans.pop(segment)
        for number in range(first, first + len(plan.pieces)):
            del self._pieces[number]

    def _plan_next(self) -> None:
        plan, sentences = next(self._coming)
        self._plans[self._planned] = plan, self._next_piece
        for piece in plan.pieces:
            self._pieces[self._next_piece] = self._planned, piece
            self._next_piece += 1
        self._unread.extend(sentences)
        self._planned += 1
