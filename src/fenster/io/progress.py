"""Progress messages on stderr: lines that stay, and a progress bar; in a log, a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

console = Console(stderr=True)
LOG_SECONDS = 30.0  # between two lines in a log


def report(text: str) -> None:
    """A line for people, on stderr."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def wide_console() -> Console:
    """For tables on stdout: as wide as the terminal, and wide enough if stdout is not one."""
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


@contextmanager
def bar(title: str, total: float) -> Iterator[Callable[[float], None]]:
    """A bar with percentage and ETA that appears while the block runs; call the value to advance it. Without a
    terminal, a line every LOG_SECONDS."""
    if not console.is_terminal:
        yield _logged(title, total)
        return
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,  # standard output may be a file: it must get what is printed
        redirect_stderr=False,
    ) as progress:
        task = progress.add_task(title, total=total or None)
        yield lambda amount: progress.advance(task, amount)


def _logged(title: str, total: float) -> Callable[[float], None]:
    began = last = time.monotonic()
    done = 0.0

    def advance(amount: float) -> None:
        nonlocal done, last
        done += amount
        now = time.monotonic()
        if now - last >= LOG_SECONDS and 0 < done < total:
            last = now
            left = (now - began) / done * (total - done)
            report(f"{title}: {done / total:.0%}, about {_duration(left)} left")

    return advance


def _duration(seconds: float) -> str:
    """3700 -> 1 h 2 min"""
    minutes, hours = round(seconds / 60), round(seconds / 60) // 60
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min" if seconds >= 90 else f"{seconds:.0f} s"
