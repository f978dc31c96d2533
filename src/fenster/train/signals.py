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
    # One that is ignored (nohup, background jobs of a script) stays ignored.
    found = {number: signal.getsignal(number) for number in _ASKING}
    before = {number: handler for number, handler in found.items() if handler is not signal.SIG_IGN}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, _: object) -> None:
        caught.append(number)
        restore()

    try:
        for number in before:
            signal.signal(number, note)
        yield caught
    finally:
        restore()
