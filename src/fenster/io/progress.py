"""What long work tells people, on stderr: lines that stay, and a progress bar if stderr is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

console = Console(stderr=True)


def report(text: str) -> None:
    """A line for people, on stderr."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def wide_console() -> Console:
    """For tables on stdout: as wide as the terminal, and wide enough if stdout is not one."""
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


@contextmanager
def bar(title: str, total: float) -> Iterator[Callable[[float], None]]:
    """A bar with percentage and ETA that appears while the block runs; the value advances it."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
        redirect_stdout=False,  # standard output may be a file: it must get what is printed
        redirect_stderr=False,
    ) as progress:
        task = progress.add_task(title, total=total or None)
        yield lambda amount: progress.advance(task, amount)
