"""What a report shows as rows and columns."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table as ConsoleTable

from fenster.evaluate.result import Score


@dataclass(frozen=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def figure(score: Score | None, interval: bool = False) -> str:
    """A score as tables have it, with its 95 % interval if asked for."""
    if score is None or score.score is None:
        return "–"
    if interval and score.low is not None and score.high is not None:
        return f"{score.score:.1f} ({score.low:.1f}–{score.high:.1f})"
    return f"{score.score:.1f}"


def mean_figure(values: Sequence[float]) -> str:
    """The mean over seeds, with the standard deviation if there are several."""
    if not values:
        return "–"
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{spread}"


def markdown(table: Table) -> list[str]:
    """Its lines, with title and note."""
    lines = [f"## {table.title}", "", *markdown_grid(table.columns, table.rows)]
    return [*lines, "", table.note] if table.note else lines


def markdown_grid(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [line(columns), "|" + "---|" * len(columns), *map(line, rows)]


def console_table(table: Table) -> ConsoleTable:
    """For a terminal."""
    shown = ConsoleTable(*table.columns, title=table.title, caption=table.note, title_justify="left", box=None)
    for row in table.rows:
        shown.add_row(*row)
    return shown
