"""What a report shows as rows and columns."""

from __future__ import annotations

from dataclasses import dataclass

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
