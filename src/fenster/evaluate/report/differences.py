"""Every system against one of them, with p-values of the paired bootstrap."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fenster.errors import ConfigError
from fenster.evaluate.report.collect import Collection, Placed, label, main_strategy
from fenster.evaluate.report.table import Table
from fenster.evaluate.result import Result
from fenster.evaluate.significance import Comparison


def differences(collection: Collection, against: str | None) -> Iterator[Table]:
    """A table for each kind of result on each test set that `against` (by default the first system) has, too."""
    groups: dict[tuple[str, str], list[Placed]] = {}
    for placed in collection.results:
        groups.setdefault((placed.result.kind, placed.result.test), []).append(placed)
    names = dict.fromkeys(
        name for placed in collection.results for name in (placed.family, label(placed.result)) if name
    )
    if against is not None and against not in names:
        raise ConfigError(f"--against: no system is called {against!r}", expected=" | ".join(names))
    for group in groups.values():
        results = [placed.result for placed in group]
        base = results[0]
        if against is not None:
            of_it = [
                placed.result for placed in main_strategy(group) if against in (label(placed.result), placed.family)
            ]
            if not of_it:
                continue
            base = of_it[0]
        if len(results) > 1 and base.scores:
            yield _table(base, [result for result in results if result is not base])


def _table(base: Result, others: list[Result]) -> Table:
    names = [score.name for score in base.scores]
    rows = []
    for other in others:
        cells = []
        for name in names:
            ours, theirs = other.score(name), base.score(name)
            paired = ours.against(theirs) if ours and theirs and other.names == base.names else None
            cells.append(difference_cell(paired))
        rows.append((label(other), other.system.strategy or "–", *cells))
    search = f" ({base.system.strategy})" if any(label(other) == label(base) for other in others) else ""
    title = f"Difference to {label(base)}{search}, {base.test}"
    note = f"Paired bootstrap over {len(base.names) or base.segments} {base.unit}."
    return Table(title, ("system", "search", *names), tuple(rows), note)


def difference_cell(comparison: Comparison | None) -> str:
    if comparison is None or math.isnan(comparison.difference):
        return "–"
    return f"{comparison.difference:+.1f}" + ("" if math.isnan(comparison.p) else f" (p = {comparison.p:.3f})")
