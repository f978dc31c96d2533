"""Signals that ask a run to stop: noted, so that it can finish its update and write a checkpoint."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_ASKING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)  # the last: what Slurm can send early


@contextmanager
def catching() -> Iterator[list[int]]:
    """The signals that came while the block ran. The first is only noted; a second one is obeyed at once."""
    caught: list[int] = []
    before = {number: signal.getsignal(number) for number in _ASKING}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, _: object) -> None:
        caught.append(number)
        restore()

    try:
        for number in _ASKING:
            signal.signal(number, note)
        yield caught
    finally:
        restore()
