"""Runs the steps of a table one after the other, and renders it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from fenster.errors import FensterError
from fenster.evaluate.report.collect import collect
from fenster.evaluate.report.table import Table, markdown
from fenster.evaluate.report.tables import tables
from fenster.io.files import atomic_text
from fenster.reproduce.step import Step

_FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1")


def duration(seconds: float) -> str:
    """For people: 40 s, 7 min, 3.5 h."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def run(steps: Sequence[Step], say: Callable[[str], None]) -> None:
    """Each as a process of its own, which resumes where an earlier one was stopped. The first that fails ends it."""
    for number, step in enumerate(steps, 1):
        label = f"[{number}/{len(steps)}] {step.command[0]} -> {step.outputs[0]}"
        if step.done:
            say(f"{label}: done already")
            continue
        left = sum(later.seconds for later in steps[number - 1 :] if not later.done)
        say(f"{label} (about {duration(step.seconds)}; about {duration(left)} left in all)")
        code = _call([sys.executable, "-m", "fenster", *step.command])
        if code < 0 or code in (130, 143):
            raise KeyboardInterrupt
        if code:
            raise FensterError(
                f"step {number} of {len(steps)} failed: fenster {step.command[0]} (exit code {code})",
                fix="see its message above; the same command resumes",
            )
        step.finished()


def _call(command: Sequence[str]) -> int:
    """The exit code of a process that is told to stop as if it ran by itself, so that a training keeps a
    checkpoint."""
    process = subprocess.Popen(command, start_new_session=True)

    def forward(number: int, _: object) -> None:
        process.send_signal(number)

    numbers = (getattr(signal, name, None) for name in _FORWARDED)  # Windows does not have all
    before = {number: signal.signal(number, forward) for number in numbers if number is not None}
    try:
        return process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def rendered(steps: Sequence[Step], titles: Sequence[str]) -> Iterator[Table]:
    """The table, from the results that the steps left, and those over several seeds."""
    paths = [path for step in steps if step.kind == "evaluate" for path in step.outputs]
    collection = collect([path for path in paths if path.exists()])
    for table in tables(collection):
        if table.title.startswith((*titles, "Several seeds")):
            yield table


def write(made: Sequence[Table], path: Path) -> None:
    with atomic_text(path) as out:
        out.write("\n".join(line for table in made for line in (*markdown(table), "")))
