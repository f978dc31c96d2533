"""Systems that were trained several times: means over seeds, and tests over seeds and documents at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fenster.evaluate.report.collect import Collection, Placed
from fenster.evaluate.report.differences import difference_cell
from fenster.evaluate.report.table import Table, mean_figure
from fenster.evaluate.result import Result, Score, compare_scores

Family = tuple[str, str]  # name and search


def seed_tables(collection: Collection, against: str | None) -> Iterator[Table]:
    """Two tables for each test set that some system has results of several seeds for."""
    groups: dict[tuple[str, str, str], dict[Family, list[Result]]] = {}
    for placed in collection.results:
        result = placed.result
        families = groups.setdefault((result.kind, result.test, result.variant), {})
        families.setdefault(_family(placed), []).append(result)
    for (_, test, _), everything in groups.items():
        families = {family: results for family, results in everything.items() if _one_of_each_seed(results)}
        if max(map(len, families.values()), default=0) < 2 or not _metrics(families):
            continue
        yield _means(families, test)
        chosen = next((family for family in families if family[0] == against), None) if against else None
        if len(families) > 1:
            yield _differences(families, chosen or next(iter(families)), test)


def _one_of_each_seed(results: Sequence[Result]) -> bool:
    """True if these are trainings on the same data with different seeds; others only share a name."""
    seeds = [result.system.seed for result in results]
    data = {(result.system.training.get("pairs"), result.system.training.get("target_tokens")) for result in results}
    return None not in seeds and len(set(seeds)) == len(seeds) and len(data) == 1


def _family(placed: Placed) -> Family:
    return placed.family, placed.result.system.strategy or "–"


def _metrics(families: dict[Family, list[Result]]) -> list[str]:
    scores = (score for results in families.values() for result in results for score in result.scores)
    return list(dict.fromkeys(score.name for score in scores if not score.is_variant))


def _scores(results: Sequence[Result], metric: str) -> list[Score]:
    return [score for result in results if (score := result.score(metric)) and score.score is not None]


def _means(families: dict[Family, list[Result]], name: str) -> Table:
    metrics = _metrics(families)
    rows = []
    for (family, search), results in families.items():
        cells = [
            mean_figure([score.score for score in _scores(results, metric) if score.score is not None])
            for metric in metrics
        ]
        rows.append((family, search, str(len(results)), *cells))
    note = "Mean and standard deviation over seeds."
    return Table(f"Several seeds, {name}", ("system", "search", "seeds", *metrics), tuple(rows), note)


def _differences(families: dict[Family, list[Result]], base: Family, name: str) -> Table:
    metrics, theirs = _metrics(families), families[base]
    rows = []
    for family, ours in families.items():
        if family != base:
            rows.append((*family, *(_difference(ours, theirs, metric) for metric in metrics)))
    unit = theirs[0].unit
    title = f"Several seeds: difference to {base[0]} ({base[1]}), {name}"
    note = f"Bootstrap over seeds and {unit} at once; a single seed counts as if further seeds gave the same result."
    return Table(title, ("system", "search", *metrics), tuple(rows), note)


def _difference(ours: Sequence[Result], theirs: Sequence[Result], metric: str) -> str:
    both = [_scores(results, metric) for results in (ours, theirs)]
    units = {result.names for result in (*ours, *theirs)}
    return difference_cell(compare_scores(*both) if all(both) and len(units) == 1 else None)
