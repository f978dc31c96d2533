"""Batches as a stream: in plan order, from any position, read ahead in a background thread."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from fenster.batch import Batch
from fenster.sampler import Sampler


@dataclass(frozen=True)
class Position:
    """Where a run is in its data: the next batch of this rank to take. All that resuming needs."""

    epoch: int = 0
    batch: int = 0


@dataclass(frozen=True)
class Step:
    """A batch and the position after it."""

    batch: Batch
    after: Position


class Loader:
    """The batches of one rank, epoch after epoch, without end (or of one epoch)."""

    def __init__(self, sampler: Sampler, *, rank: int = 0, ranks: int = 1, ahead: int = 8) -> None:
        if ahead < 1:
            raise ValueError(f"at least one batch must be read ahead, but `ahead` is {ahead}")
        self._sampler, self._rank, self._ranks, self._ahead = sampler, rank, ranks, ahead

    def epoch(self, epoch: int, start: int = 0) -> Iterator[Step]:
        """The batches of one epoch from this rank's batch `start` on."""
        plan = self._sampler.plan(epoch)
        mine = plan.rank_batches(self._rank, self._ranks)
        for place in range(start, len(mine)):
            batch = Batch.read(self._sampler.index, plan.batch(mine[place]))
            last = place + 1 == len(mine)
            yield Step(batch, Position(epoch + 1, 0) if last else Position(epoch, place + 1))

    def stream(self, position: Position = Position()) -> Iterator[Step]:  # noqa: B008 - immutable
        """Batches from `position` on, for ever, read ahead by a thread that ends with the iterator."""
        return prefetch(self._endless(position), self._ahead)

    def _endless(self, position: Position) -> Iterator[Step]:
        while True:
            found = False
            for step in self.epoch(position.epoch, position.batch):
                found, position = True, step.after
                yield step
            if not found and position.batch == 0:
                raise ValueError(f"fewer batches than the {self._ranks} ranks that share them")
            if not found:
                position = Position(position.epoch + 1, 0)


def prefetch(items: Iterator[Step], ahead: int) -> Iterator[Step]:
    """Take `items` in a background thread, at most `ahead` of them early; its errors are raised here."""
    waiting: queue.Queue[Step | BaseException | None] = queue.Queue(maxsize=ahead)
    stop = threading.Event()

    def put(item: Step | BaseException | None) -> bool:
        while not stop.is_set():
            try:
                waiting.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for item in items:
                if not put(item):
                    return
        except BaseException as error:  # handed over to the consumer, which raises it
            put(error)
        else:
            put(None)

    thread = threading.Thread(target=work, name="fenster-prefetch", daemon=True)
    thread.start()
    try:
        while True:
            item = waiting.get()
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        if not sys.is_finalizing():  # at the end of the program threads stand still, and waiting would be for ever
            thread.join()
