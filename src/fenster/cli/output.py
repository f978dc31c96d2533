"""How commands show and keep results."""

from __future__ import annotations

import math
import os
from pathlib import Path

from rich.markup import escape
from rich.table import Column, Table

from fenster.evaluate.result import Result, Score
from fenster.io.progress import report, wide_console


def save_result(result: Result, output: Path, files: dict[str, list[Path]] | None = None) -> None:
    """Write a result; files are named relative to it, so that a folder of results can move."""
    near = {
        key: tuple(os.path.relpath(path, output.parent) for path in paths) for key, paths in (files or {}).items()
    }
    result.model_copy(update={"files": near}).write(output)
    report(f"-> {output}")


def print_result(result: Result) -> None:
    """The readable table."""
    console = wide_console()
    units = f"{len(result.names)} documents" if result.unit == "documents" else "segments"
    what = escape(f"{result.system.name} on {result.test}")
    title = f"{what}: {result.segments:,} segments; 95 % intervals over {units}"
    unseen = any(score.unseen is not None for score in result.scores)
    columns = ("metric", "score", "95 %", *(["not in training"] if unseen else []), "details")
    table = Table(*columns, title=title, title_justify="left", box=None)
    for score in result.scores:
        more = [number(score.unseen)] if unseen else []
        table.add_row(score.name, number(score.score), _interval(score), *more, _details(score))
    console.print(table)
    for reason in result.skipped:
        console.print(f"left out: {reason}", markup=False)
    for signature in dict.fromkeys(f"{score.name}: {score.signature}" for score in result.scores if score.signature):
        console.print(f"[dim]{signature}[/]")


def print_documents(result: Result) -> None:
    """The scores of each document."""
    table = Table(Column("document", overflow="fold"), *(score.name for score in result.scores), box=None)
    measurements = [score.measurement() for score in result.scores]
    for row, name in enumerate(result.names):
        scores = (measurement.score_of(measurement.statistics[row]) for measurement in measurements)
        table.add_row(escape(name), *map(number, scores))
    wide_console().print(table)


def number(value: float | None, places: int = 1) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.{places}f}"


def _interval(score: Score) -> str:
    return f"{number(score.low)} – {number(score.high)}" if score.low is not None else ""


def _details(score: Score) -> str:
    details = score.details
    parts = [f"{key} {number(details[key])}" for key in ("precision", "recall") if key in details]
    if "counts" in details:
        counts = details["counts"]
        pairs = [
            f"{label} {counts['hypothesis'][label]}/{counts['reference'][label]}" for label in counts["reference"]
        ]
        parts.append(f"{', '.join(pairs)} (hyp/ref, {counts['sentences']} sentences)")
    if "reference" in details:
        parts.append(f"reference {number(details['reference'])}")
    if "cases" in details:
        parts.append(f"{details['cases']:,} cases")
    return ", ".join(parts)
