"""The tables of a report: the paper's, all metrics, breakdowns, and differences between systems."""

from __future__ import annotations

from collections.abc import Iterable

from fenster.evaluate.report.collect import Collection, amount, contrastive_sets, item_sets, label, main_strategy
from fenster.evaluate.report.differences import differences
from fenster.evaluate.report.paper_tables import paper_tables
from fenster.evaluate.report.seeds import seed_tables
from fenster.evaluate.report.table import Table, figure


def tables(collection: Collection, against: str | None = None) -> list[Table]:
    """All that there are results for; differences are those to the system `against`, by default the first."""
    made: Iterable[Table | None] = [
        *paper_tables(collection),
        *(_metrics(collection, test) for test in collection.tests()),
        *(_contrastive(collection, test) for test in contrastive_sets(collection)),
        *(_items(collection, name) for name in item_sets(collection)),
        *(_counts(collection, test) for test in collection.tests()),
        *seed_tables(collection, against),
        *differences(collection, against),
    ]
    return [table for table in made if table is not None and table.rows]


def _metrics(collection: Collection, test: str) -> Table:
    results = [placed.result for placed in collection.of("translation", test)]
    metrics = list(dict.fromkeys(s.name for result in results for s in result.scores if not s.is_variant))
    rows = []
    for placed in collection.of("translation", test):
        result = placed.result
        cells = [figure(result.score(name), True) for name in metrics]
        rows.append((label(result), result.system.strategy or "–", *cells))
    reference = [
        f"{name} {score.details['reference']:.1f}"
        for name in metrics
        for score in [collection.of("translation", test)[0].result.score(name)]
        if score is not None and score.details.get("reference") is not None
    ]
    note = f"95 % intervals, resampling {collection.of('translation', test)[0].result.unit}."
    note += f" The reference itself has: {', '.join(reference)}." if reference else ""
    return Table(f"All metrics, {test}", ("system", "search", *metrics), tuple(rows), note)


def _contrastive(collection: Collection, test: str) -> Table:
    results = [placed.result for placed in collection.of("contrastive", test)]
    names = list(dict.fromkeys((line["kind"], line["name"]) for result in results for line in result.table))
    rows = []
    for kind, name in names:
        if kind == "pair at distance":
            continue
        cells = []
        for result in results:
            line = next((row for row in result.table if (row["kind"], row["name"]) == (kind, name)), None)
            cells.append("–" if line is None else f"{100 * line['right'] / line['total']:.1f} of {line['total']:,}")
        rows.append((kind, name, *cells))
    columns = ("", "", *(label(result) for result in results))
    return Table(f"Contrastive accuracy by kind, {test}", columns, tuple(rows))


def _items(collection: Collection, name: str) -> Table:
    results = [placed.result for placed in collection.of("items") if str(placed.result.extra.get("set")) == name]
    amounts = sorted({result.variant for result in results}, key=amount)
    rows = []
    for system in dict.fromkeys(result.system.name for result in results):
        of_system = {result.variant: result for result in results if result.system.name == system}
        for metric in ("expected form", "formality F1"):
            cells = [figure(of_system[given].score(metric), True) if given in of_system else "–" for given in amounts]
            rows.append((system, metric, *cells))
    columns = ("system", "metric", *(f"{given} preceding" for given in amounts))
    return Table(f"Items in context, by the sentences given before them: {name}", columns, tuple(rows))


def _counts(collection: Collection, test: str) -> Table | None:
    """The paper's Table 8: forms of each class in the reference, and what systems make of them."""
    results = [placed.result for placed in main_strategy(collection.of("translation", test))]
    rows = []
    for name in ("pronoun F1", "formality F1"):
        counted = [(result, score.details["counts"]) for result in results if (score := result.score(name))]
        for form in counted[0][1]["reference"] if counted else ():
            ours = (f"{counts['hypothesis'][form]:,}" for _, counts in counted)
            rows.append((name, form, f"{counted[0][1]['reference'][form]:,}", *ours))
    columns = ("score", "class", "reference", *(label(result) for result in results))
    return Table(f"Table 8: forms counted, {test}", columns, tuple(rows)) if rows else None
