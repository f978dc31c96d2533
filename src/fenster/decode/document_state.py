"""A document on its way through translation: its segments, its session, and what is ready."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fenster.decode.passthrough import Passthrough
from fenster.decode.result import Translated
from fenster.decode.search import Hypothesis, SearchRequest
from fenster.decode.strategies import SentenceResult, Session


class DocumentState:
    """Segments leave in order, each as soon as it and those before it are ready; copied segments at once."""

    def __init__(
        self, number: int, id: str, segments: Sequence[Passthrough], done: Sequence[Translated], session: Session
    ) -> None:
        self.number, self.id = number, id
        self._segments, self._session = segments, session
        self._sentences = [index for index, segment in enumerate(segments) if not segment.is_copied]
        self._next = len(done)  # the segment that leaves next
        self._ready: dict[int, tuple[SentenceResult, float]] = {}

    @property
    def finished(self) -> bool:
        return self._next >= len(self._segments)

    def requests(self, room: int) -> list[SearchRequest]:
        """At most `room` searches that can run now."""
        return self._session.requests(room)

    def take(self, hypotheses: Sequence[Hypothesis], seconds: float) -> None:
        """The result of the oldest request that is still out."""
        results = self._session.take(hypotheses)
        for result in results:
            self._ready[self._sentences[result.number]] = (result, seconds / len(results))

    def leave(self) -> Iterator[tuple[Passthrough, SentenceResult | None, float]]:
        """Segments that are ready, in order: (segment, its result or None if it is copied, seconds)."""
        while self._next < len(self._segments):
            segment = self._segments[self._next]
            if not segment.is_copied and self._next not in self._ready:
                return
            result, seconds = (None, 0.0) if segment.is_copied else self._ready.pop(self._next)
            self._next += 1
            yield segment, result, seconds
