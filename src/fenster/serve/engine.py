"""The thread that owns the model: documents come in from any request, their searches share batches, translations go
out as they are ready.

Documents take turns, so that a short one never waits for a long one. The queue is bounded; a request that is given
up, or whose client has gone, stops costing anything.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import threading
import time
import traceback
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fenster.decode.document_state import DocumentState
from fenster.decode.given import Pairs
from fenster.decode.glossary import GivenTerms
from fenster.decode.result import Translated
from fenster.decode.translator import Translator
from fenster.document import Document
from fenster.errors import FensterError

_MOST_OPEN = 512  # documents that take turns; more wait in the queue
_STOP = object()
Result = TypeVar("Result")


class OverloadedError(Exception):
    """The queue is full."""


class TooLateError(Exception):
    """The request took longer than it may."""


class FailedError(Exception):
    """The translation failed, by no fault of the request."""


@dataclass
class _Job:
    number: int
    state: DocumentState
    deadline: float
    deliver: Callable[[object], None]
    """Called in the engine's thread with a Translated, an exception, or the end."""
    left: int
    """Segments to come."""


class Engine:
    def __init__(self, translator: Translator, most_waiting: int) -> None:
        self.translator, self._most_waiting = translator, most_waiting
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._waiting: deque[_Job] = deque()
        self._calls: deque[Callable[[], None]] = deque()
        self._cancelled: set[int] = set()
        self._open: dict[int, _Job] = {}
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="fenster-engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Finish what was accepted, then end."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    @property
    def waiting(self) -> int:
        """Documents in the queue."""
        return len(self._waiting)

    @property
    def open(self) -> int:
        """Documents that are being translated."""
        return len(self._open)

    async def translate(self, document: Document, history: Pairs = (), deadline: float = 600.0) -> list[Translated]:
        """All segments of a document."""
        return [segment async for segment in await self.stream(document, history, deadline)]

    async def stream(
        self,
        document: Document,
        history: Pairs = (),
        deadline: float = 600.0,
        done: Sequence[Translated] = (),
        terms: GivenTerms | None = None,
    ) -> AsyncIterator[Translated]:
        """The segments of a document as they are ready, but for the first that are `done` already. It is in the queue
        when this returns, or an error says why not; who stops listening cancels it."""
        self._check_room()
        number, until = next(self._numbers), time.monotonic() + deadline
        # What is done already is planned at once, and some strategies plan the whole document: not in the engine's
        # thread, where all would wait for it.
        state = await asyncio.to_thread(self.translator.open, number, document, done, history=history, terms=terms)
        loop, messages = asyncio.get_running_loop(), asyncio.Queue[object]()

        def deliver(message: object) -> None:
            loop.call_soon_threadsafe(messages.put_nowait, message)

        job = _Job(number, state, until, deliver, len(document) - len(done))
        self._submit(job)
        return self._listen(job, messages)

    async def _listen(self, job: _Job, messages: asyncio.Queue[object]) -> AsyncIterator[Translated]:
        finished = False
        try:
            while True:
                message = await messages.get()
                if message is _STOP:
                    finished = True
                    return
                if isinstance(message, Exception):
                    finished = True
                    raise message
                assert isinstance(message, Translated)
                yield message
        finally:
            if not finished:
                self._cancel(job.number)

    async def call(self, function: Callable[[], Result]) -> Result:
        """Run something with the model, between two batches."""
        future: concurrent.futures.Future[Result] = concurrent.futures.Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function())
            except Exception as error:
                future.set_exception(error)

        with self._changed:
            if self._stopping or len(self._calls) >= self._most_waiting:
                raise OverloadedError
            self._calls.append(run)
            self._changed.notify()
        return await asyncio.wrap_future(future)

    def _check_room(self) -> None:
        if self._stopping or len(self._waiting) >= self._most_waiting:
            raise OverloadedError

    def _submit(self, job: _Job) -> None:
        with self._changed:
            self._check_room()
            self._waiting.append(job)
            self._changed.notify()

    def _cancel(self, number: int) -> None:
        with self._changed:
            self._cancelled.add(number)
            self._changed.notify()

    def _run(self) -> None:
        pool = self.translator.pool()
        while self._wait_for_work():
            try:
                while self._calls:
                    self._calls.popleft()()
                self._give_up(pool.remove)
                pool.gather()
                for job in self._arrived():
                    pool.add(job.state)
                for event in pool.step(self._fail):
                    self._deliver(event.document, event.translated)
            except Exception as error:  # a defect: tell whoever waits, and keep serving
                pool = self.translator.pool()
                for number in list(self._open):
                    self._fail(number, error)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def _wait_for_work(self) -> bool:
        """True if there is work; False when the engine is to end."""
        with self._changed:
            while not (self._waiting or self._calls or self._open or self._stopping):
                self._changed.wait()
            return bool(self._waiting or self._calls or self._open)

    def _arrived(self) -> Sequence[_Job]:
        """Jobs from the queue that now take turns. A document without segments is done already."""
        with self._changed:
            count = min(len(self._waiting), _MOST_OPEN - len(self._open))
            jobs = [self._waiting.popleft() for _ in range(max(0, count))]
        for job in jobs:
            if job.left:
                self._open[job.number] = job
            else:
                job.deliver(_STOP)
        return [job for job in jobs if job.left]

    def _give_up(self, remove: Callable[[int], None]) -> None:
        """Drop what was cancelled or is too late, open or not."""
        with self._changed:
            cancelled, self._cancelled = self._cancelled, set()
            now = time.monotonic()
            late = [job for job in (*self._waiting, *self._open.values()) if job.deadline < now]
            gone = cancelled | {job.number for job in late}
            self._waiting = deque(job for job in self._waiting if job.number not in gone)
        for number in gone & self._open.keys():
            remove(number)
            del self._open[number]
        for job in late:
            job.deliver(TooLateError())

    def _deliver(self, number: int, translated: Translated) -> None:
        job = self._open[number]
        job.deliver(translated)
        job.left -= 1
        if not job.left:
            del self._open[number]
            job.deliver(_STOP)

    def _fail(self, number: int, error: Exception) -> None:
        """End a document with an error: its own words if they are meant for people."""
        if isinstance(error, FensterError):
            said = str(error)
        else:
            traceback.print_exception(error)
            said = "the translation failed; see the server's log"
        self._open.pop(number).deliver(FailedError(said))
