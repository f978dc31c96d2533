"""Batches as a stream: in plan order, from any position, read ahead in a background thread."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TypeVar

from fenster.data.batch import Batch
from fenster.data.sampler import Plan, Plans
from fenster.errors import FensterError

PREFETCHED_BATCHES = 8  # prepared in the background while earlier ones are trained on


@dataclass(frozen=True)
class DataPosition:
    """A run's position in its data: the next batch that no process has taken. Resuming needs nothing else."""

    epoch: int = 0
    portion: int = 0
    batch: int = 0


@dataclass(frozen=True)
class Step:
    """A batch and the position after it and those that the other ranks take at the same time."""

    batch: Batch
    after: DataPosition


class Loader:
    """Batches epoch after epoch, without end, dealt out to `ranks` processes in turn.

    Dealing continues across the end of an epoch, so every batch is taken by some process, and n processes together
    see exactly what one process would: their k-th batches are its batches k * n … k * n + n - 1.
    """

    def __init__(self, plans: Plans, *, rank: int = 0, ranks: int = 1, ahead: int = PREFETCHED_BATCHES) -> None:
        if ahead < 1:
            raise ValueError(f"at least one batch must be read ahead, but `ahead` is {ahead}")
        if not 0 <= rank < ranks:
            raise ValueError(f"rank must be in 0..{ranks - 1}, but is {rank} instead")
        self._plans, self._rank, self._ranks, self._ahead = plans, rank, ranks, ahead

    def epoch(self, epoch: int) -> Iterator[Batch]:
        """This rank's batches of one epoch, for validation; the last ones may be one fewer than other ranks'."""
        plan = self._plans.plan(epoch)
        for number in range(self._rank, len(plan), self._ranks):
            yield Batch.read(plan.index, plan.batch(number))

    def stream(self, position: DataPosition = DataPosition()) -> Generator[Step]:  # noqa: B008 - immutable
        """Batches from `position` on, for ever, read ahead by a thread that ends with the iterator."""
        return prefetch(self.steps(position), self._ahead)

    def steps(self, position: DataPosition = DataPosition()) -> Iterator[Step]:  # noqa: B008 - immutable
        """The same without the thread."""
        batches = self._batches(position)
        while True:
            mine = None
            for rank in range(self._ranks):
                plan, number, position = next(batches)
                if rank == self._rank:
                    mine = Batch.read(plan.index, plan.batch(number))
            assert mine is not None
            yield Step(mine, position)

    def _batches(self, position: DataPosition) -> Iterator[tuple[Plan, int, DataPosition]]:
        """Every batch from `position` on, as plan and number, and the position after it."""
        epoch, portion, first = position.epoch, position.portion, position.batch
        empty = 0  # plans in a row
        while True:
            plan = self._plans.plan(epoch, portion)
            empty = 0 if len(plan) else empty + 1
            if empty > self._plans.portions:
                raise FensterError("an epoch has no examples", fix="raise the weights of the corpora (mixture)")
            after = (
                DataPosition(epoch, portion + 1) if portion + 1 < self._plans.portions else DataPosition(epoch + 1)
            )
            for number in range(first, len(plan)):
                last = number + 1 == len(plan)
                yield plan, number, after if last else DataPosition(epoch, portion, number + 1)
            epoch, portion, first = after.epoch, after.portion, 0


Item = TypeVar("Item")


def prefetch(items: Iterator[Item], ahead: int) -> Generator[Item]:
    """Take `items` in a background thread, at most `ahead` of them early; its errors are raised here."""
    waiting: queue.Queue[Item | BaseException | None] = queue.Queue(maxsize=ahead)
    stop = threading.Event()

    def put(item: Item | BaseException | None) -> bool:
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
        if not sys.is_finalizing():  # at interpreter shutdown threads are frozen, and waiting would never end
            thread.join()
