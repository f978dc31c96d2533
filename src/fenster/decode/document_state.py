"""A document on its way through a translator: which of its segments wait, are being searched, or may leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from fenster.decode.plan import Piece, SegmentPlan
from fenster.decode.result import Translated
from fenster.decode.search import Hypothesis, SearchRequest
from fenster.decode.strategies import SentenceResult, Session
from fenster.language import Register

_FEWEST_FORMS = 3  # of address, before a document has a register
_AGREE = 0.75  # the share of them in one register


class DocumentState:
    """Segments leave in order, each as soon as it and those before it are ready; copied segments at once."""

    def __init__(
        self, number: int, id: str, plans: Sequence[SegmentPlan], done: Sequence[Translated], session: Session
    ) -> None:
        self.number, self.id = number, id
        self._plans, self._session = plans, session
        # What strategies call sentences are the pieces of all segments.
        self._owners = [(index, piece) for index, plan in enumerate(plans) for piece in plan.pieces]
        self._next = len(done)  # the segment that leaves next
        self._ready: dict[int, list[tuple[SentenceResult, float]]] = {}
        self.seen: dict[str, str] = {one.text: one.source for one in reversed(done)}
        """Sources of the translations so far."""
        self._forms: Counter[Register] = Counter()

    @property
    def finished(self) -> bool:
        return self._next >= len(self._plans)

    def requests(self, room: int) -> list[SearchRequest]:
        """At most `room` searches that can run now."""
        return self._session.requests(room)

    def piece(self, request: SearchRequest) -> Piece | None:
        """What a search of a single sentence translates; None for a search of several."""
        return self._owners[request.number][1] if len(request.constraints.max_tokens) == 1 else None

    def count_forms(self, forms: Mapping[Register, int]) -> None:
        """Forms of address in a translation."""
        self._forms.update(forms)

    @property
    def register(self) -> Register | None:
        """The register of the document so far: that of most forms of address, if there are some."""
        total = self._forms.total()
        register = max(self._forms, key=lambda one: self._forms[one], default=None)
        agree = register is not None and self._forms[register] >= _AGREE * total
        return register if total >= _FEWEST_FORMS and agree else None

    def take(self, hypotheses: Sequence[Hypothesis], seconds: float) -> None:
        """The result of the oldest request that is still out."""
        results = self._session.take(hypotheses)
        for result in results:
            segment = self._owners[result.number][0]
            self._ready.setdefault(segment, []).append((result, seconds / len(results)))

    def leave(self) -> Iterator[tuple[SegmentPlan, list[SentenceResult], float]]:
        """Segments that are ready, in order: (plan, the results of its pieces, seconds)."""
        while self._next < len(self._plans):
            plan = self._plans[self._next]
            ready = self._ready.get(self._next, [])
            if len(ready) < len(plan.pieces):
                return
            self._ready.pop(self._next, None)
            self._next += 1
            results = sorted((result for result, _ in ready), key=lambda result: result.number)
            yield plan, results, sum(seconds for _, seconds in ready)
