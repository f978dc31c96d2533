"""A document on its way through a translator: which of its segments wait, are being searched, or may leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fenster.decode.document_plan import DocumentPlan
from fenster.decode.document_style import DocumentStyle
from fenster.decode.piece import Piece, SegmentPlan
from fenster.decode.search import Hypothesis, SearchRequest
from fenster.decode.strategies import SentenceResult, Session


class DocumentState:
    """Segments leave in order, each as soon as it and those before it are ready; copied segments at once."""

    def __init__(self, number: int, plan: DocumentPlan, done: int, session: Session, style: DocumentStyle) -> None:
        """`done` segments have been translated before."""
        self.number, self.style = number, style
        self._plan, self._session = plan, session
        self._next = done  # the segment that leaves next
        self._ready: dict[int, list[tuple[SentenceResult, float]]] = {}
        self._out = 0  # requests

    @property
    def finished(self) -> bool:
        return self._next >= len(self._plan)

    def requests(self, room: int) -> list[SearchRequest]:
        """At most `room` searches that can run now; one at a time in a document that keeps to a register, since each
        depends on those before it."""
        requests = self._session.requests(min(room, 1 - self._out) if self.style.is_steady else room)
        self._out += len(requests)
        return requests

    def piece(self, request: SearchRequest) -> Piece | None:
        """What a search of a single sentence translates, in the register that the document keeps to; None for a
        search of several."""
        if len(request.constraints.max_tokens) > 1:
            return None
        _, piece = self._plan.piece(request.number)
        return piece if piece.register is not None else replace(piece, register=self.style.steady_register)

    def take(self, hypotheses: Sequence[Hypothesis], seconds: float) -> None:
        """The result of the oldest request that is still out."""
        self._out -= 1
        results = self._session.take(hypotheses)
        for result in results:
            segment, _ = self._plan.piece(result.number)
            self._ready.setdefault(segment, []).append((result, seconds / len(results)))

    def leave(self) -> Iterator[tuple[SegmentPlan, list[SentenceResult], float]]:
        """Segments that are ready, in order: (plan, the results of its pieces, seconds)."""
        while self._next < len(self._plan):
            plan = self._plan[self._next]
            ready = self._ready.get(self._next, [])
            if len(ready) < len(plan.pieces):
                return
            self._ready.pop(self._next, None)
            self._plan.drop(self._next)
            self._next += 1
            results = sorted((result for result, _ in ready), key=lambda result: result.number)
            yield plan, results, sum(seconds for _, seconds in ready)
