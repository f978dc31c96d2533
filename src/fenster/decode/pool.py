"""Documents that are being translated together: their searches share batches.

Each step asks every open document for the searches that can run now, runs them as one batch, and hands out the
segments that are ready. A document that is finished makes room for the next; one may be added or taken out between
any two steps. In sequential decoding a document has at most one search in each batch, and documents take turns, so
that a long one never keeps a short one waiting.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fenster.decode.assemble import Assembler
from fenster.decode.document_state import DocumentState
from fenster.decode.result import Translated
from fenster.decode.search import Hypothesis, SearchRequest

Search = Callable[[Sequence[SearchRequest], Sequence[DocumentState]], list[list[Hypothesis]]]
"""The hypotheses of each request; the states are the documents that they belong to."""
Failed = Callable[[int, Exception], None]
"""Takes a document's number and why it cannot be translated."""


@dataclass(frozen=True)
class SegmentEvent:
    """A segment that is ready: the document's number among those being translated, and its translation."""

    document: int
    translated: Translated


class DocumentPool:
    def __init__(self, search: Search, assembler: Assembler, batch_size: int) -> None:
        self._search, self._assembler, self._batch_size = search, assembler, batch_size
        self._open: list[DocumentState] = []
        self._requests: list[SearchRequest] = []
        self._owners: list[DocumentState] = []  # of each request

    def __len__(self) -> int:
        """Open documents."""
        return len(self._open)

    @property
    def has_room(self) -> bool:
        """True if the next batch has room for another document. Call `gather` first."""
        return len(self._requests) < self._batch_size

    def gather(self) -> None:
        """Collect the searches of open documents that can run now. If not all get their turn, those that did are last
        the next time."""
        served = [state for state in self._open if self._ask(state)]
        numbers = {state.number for state in served}
        self._open = [*(state for state in self._open if state.number not in numbers), *served]

    def add(self, state: DocumentState) -> None:
        """Open a document; its first searches are part of the next batch, as far as there is room."""
        self._open.append(state)
        self._ask(state)

    def remove(self, number: int) -> None:
        """Take a document out; what was translated of it is lost."""
        self._open = [state for state in self._open if state.number != number]
        kept = [
            (request, owner)
            for request, owner in zip(self._requests, self._owners, strict=True)
            if owner.number != number
        ]
        self._requests, self._owners = [request for request, _ in kept], [owner for _, owner in kept]

    def step(self, failed: Failed | None = None) -> Iterator[SegmentEvent]:
        """Run the searches that have been collected; then the segments that are ready. If searches fail, each
        document's are run alone, and those documents that fail again are taken out and passed to `failed`; without
        it, the error is raised."""
        requests, owners = self._requests, self._owners
        self._requests, self._owners = [], []
        try:
            self._run(requests, owners)
        except Exception as error:
            if failed is None:
                raise
            numbers = dict.fromkeys(owner.number for owner in owners)
            for number in numbers:
                if len(numbers) == 1:
                    self.remove(number)
                    failed(number, error)
                else:
                    self._run_alone(number, requests, owners, failed)
        for state in self._open:
            for plan, pieces, seconds in state.leave():
                translated = self._assembler.translated(plan, pieces, seconds, state.style)
                state.style.add(translated.source, translated.text)
                yield SegmentEvent(state.number, translated)
        self._open = [state for state in self._open if not state.finished]

    def _run(self, requests: Sequence[SearchRequest], owners: Sequence[DocumentState]) -> None:
        if not requests:
            return
        began = time.perf_counter()
        results = self._search(requests, owners)
        seconds = (time.perf_counter() - began) / len(requests)
        for state, hypotheses in zip(owners, results, strict=True):
            state.take(hypotheses, seconds)

    def _run_alone(
        self, number: int, requests: Sequence[SearchRequest], owners: Sequence[DocumentState], failed: Failed
    ) -> None:
        ours = [(request, owner) for request, owner in zip(requests, owners, strict=True) if owner.number == number]
        try:
            self._run([request for request, _ in ours], [owner for _, owner in ours])
        except Exception as error:
            self.remove(number)
            failed(number, error)

    def _ask(self, state: DocumentState) -> bool:
        """True if the document has a search in the next batch."""
        ready = state.requests(self._batch_size - len(self._requests))
        self._requests += ready
        self._owners += [state] * len(ready)
        return bool(ready)
