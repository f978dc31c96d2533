"""The paper's tables with our figures, the paper's beside them where there is one for the same kind of system."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from fenster.evaluate.report.collect import Collection, Placed, amount, item_sets, label, main_strategy
from fenster.evaluate.report.differences import differences
from fenster.evaluate.report.table import Table
from fenster.evaluate.result import Result, Score

_PAPER: dict[str, list[dict[str, Any]]] = yaml.safe_load((Path(__file__).parent / "paper.yaml").read_text("utf-8"))
_METRICS = ("BLEU", "d-BLEU", "TER", "chrF", "pronoun F1", "formality F1", "register consistency", "term consistency")


def tables(found: Collection, against: str | None = None) -> list[Table]:
    """All that there are results for; differences are those to the system `against`, by default the first."""
    made = [
        _attention(found),
        *(_search(found, test) for test in found.tests()),
        *(_tuning(found, test) for test in found.tests()),
        _final(found),
        _pronouns(found),
        *(_metrics(found, test) for test in found.tests()),
        *(_contrastive(found, test) for test in _sets(found)),
        *(_items(found, name) for name in item_sets(found)),
        *(_counts(found, test) for test in found.tests()),
    ]
    return [table for table in (*made, *differences(found, against)) if table is not None and table.rows]


def figure(score: Score | None, interval: bool = False) -> str:
    """A score as tables have it, with its 95 % interval if asked for."""
    if score is None or score.score is None:
        return "–"
    if interval and score.low is not None and score.high is not None:
        return f"{score.score:.1f} ({score.low:.1f}–{score.high:.1f})"
    return f"{score.score:.1f}"


def _paper(table: str, result: Result, *keys: str) -> dict[str, Any]:
    """The paper's row for the same kind of system; empty if it has none: it decodes no single sentences with document
    systems, and other windows than relative ones of 20, or with other alignments, are in its Table 4 only."""
    system = result.system.model_dump()
    usual = system["attention"] != "window" or (
        system["alignment"] in ("linear", "sent-align")
        and (system["positions"], system["window"]) == ("relative", 20)
    )
    if not (usual or "alignment" in keys) or system["strategy"] == "sentence" != system["attention"]:
        return {}
    for row in _PAPER[table]:
        if all(row.get(key) == system.get(key) for key in keys):
            return row
    return {}


def _number(row: dict[str, Any], key: str, place: int | None = None) -> str:
    value = row.get(key)
    if value is None:
        return "–"
    return f"{value if place is None else value[place]:.1f}"


def _attention(found: Collection) -> Table | None:
    rows = []
    for each in found.of("attention"):
        result = each.result
        paper = _paper("table1", result, "attention", "context")
        reach = result.extra.get("effective_context")
        bleu = next(
            (
                figure(other.result.score("BLEU"))
                for other in main_strategy(found.of("translation", result.test))
                if other.result.system.name == result.system.name
            ),
            "–",
        )
        rows.append(
            (
                label(result),
                result.test,
                f"{100 * result.extra['cross']:.1f}",
                f"{100 * result.extra['last']:.1f}",
                bleu,
                f"{reach} tokens" if reach is not None else result.system.context or "–",
                _number(paper, "share"),
                _number(paper, "bleu"),
            )
        )
    columns = (
        "system",
        "test set",
        "share %",
        "last layer %",
        "BLEU",
        "effective context",
        "paper share %",
        "paper BLEU",
    )
    note = "Cross-attention on the source sentence being translated, references force-decoded. Paper: NEWS."
    return Table("Table 1: attention on the current sentence", columns, tuple(rows), note)


def _search(found: Collection, test: str) -> Table | None:
    by_system: dict[str, dict[str, Placed]] = {}
    for each in found.of("translation", test):
        by_system.setdefault(each.result.system.name, {})[each.result.system.strategy or ""] = each
    if all(len(each) < 2 for each in by_system.values()):
        return None
    rows = []
    for name, searches in by_system.items():
        first = next(iter(searches.values())).result
        paper = _paper("table3", first, "attention", "context")
        ours = [
            figure(searches[key].result.score("BLEU"), True) if key in searches else "–"
            for key in ("sentence", "full-segment", "sequential")
        ]
        theirs = [_number(paper, key) for key in ("sentence", "full-segment", "sequential")]
        rows.append((name, *ours, *theirs))
    columns = ("system", "sentence", "FSD", "SD", "paper sentence", "paper FSD", "paper SD")
    return Table(f"Table 3: search, BLEU on {test}", columns, tuple(rows), "Paper: NEWS.")


def _tuning(found: Collection, test: str) -> Table | None:
    results = main_strategy(found.of("translation", test))
    windows = [each for each in results if each.result.system.attention == "window"]
    if len(windows) < 2:
        return None
    rows = []
    for each in results:
        system = each.result.system
        if system.attention not in ("full", "window") or system.context != "1000 tok.":
            continue
        keys = ("attention", "positions", "alignment", "window")
        paper = _paper("table4", each.result, *(keys if system.attention == "window" else keys[:2]))
        rows.append(
            (
                system.name,
                {"sinusoidal": "abs", "relative": "rel"}.get(system.positions or "", "–"),
                system.alignment or "–",
                "–" if system.window is None else str(system.window),
                figure(each.result.score("BLEU")),
                figure(each.result.score("TER")),
                _number(paper, "bleu"),
                _number(paper, "ter"),
            )
        )
    columns = ("system", "pos.", "alignment", "w", "BLEU", "TER", "paper BLEU", "paper TER")
    return Table(f"Table 4: windows, {test}", columns, tuple(rows), "Paper: NEWS.")


def _final(found: Collection) -> Table:
    results = main_strategy(found.of("translation"))
    tests, rows = found.tests(), []
    for name in _systems(results):
        of_system = {each.result.test: each.result for each in results if each.result.system.name == name}
        first = next(iter(of_system.values()))
        paper = _paper("table5", first, "attention", "context")
        cells = []
        for test in tests:
            result = of_system.get(test)
            if result is None:
                cells.append("–")
                continue
            other = f" ({result.system.strategy})" if result.system.strategy != first.system.strategy else ""
            cells.append(f"{figure(result.score('BLEU'))} / {figure(result.score('TER'))}{other}")
        cells += [
            f"{_number(paper, task, 0)} / {_number(paper, task, 1)}" if paper else "–"
            for task in ("NEWS", "TED", "OS")
        ]
        rows.append((name, first.system.context or "–", first.system.strategy or "–", *cells))
    columns = ("system", "context", "search", *tests, "paper NEWS", "paper TED", "paper OS")
    return Table(
        "Table 5: BLEU / TER",
        columns,
        tuple(rows),
        "Each system with the search that the paper gives it, or the one in brackets.",
    )


def _pronouns(found: Collection) -> Table | None:
    results = main_strategy(found.of("translation"))
    sets = _sets(found)
    contrastive = {each.result.system.name: each.result for each in found.of("contrastive", sets[0] if sets else "")}
    if not contrastive and not any(each.result.score("pronoun F1") for each in results):
        return None
    tests, rows = found.tests(), []
    for name in dict.fromkeys([*_systems(results), *contrastive]):
        of_system = {each.result.test: each.result for each in results if each.result.system.name == name}
        first = contrastive.get(name) or next(iter(of_system.values()))
        paper = _paper("table6", first, "attention", "context")
        accuracy = contrastive[name].score("contrastive accuracy") if name in contrastive else None
        cells = [
            f"{figure(of_system[test].score('pronoun F1'))} / {figure(of_system[test].score('formality F1'))}"
            if test in of_system
            else "–"
            for test in tests
        ]
        theirs = [
            f"{_number(paper, task, 0)} / {_number(paper, task, 1)}" if paper else "–" for task in ("news", "os")
        ]
        rows.append((name, figure(accuracy, True), *cells, *theirs, _number(paper, "formality")))
    columns = (
        "system",
        f"contrastive accuracy, {sets[0]}" if sets else "contrastive accuracy",
        *(f"{test}: pronoun / formality F1" for test in tests),
        "paper NEWS: acc. / pronoun F1",
        "paper OS: acc. / pronoun F1",
        "paper formality F1",
    )
    return Table("Table 6: pronouns and formality", columns, tuple(rows))


def _metrics(found: Collection, test: str) -> Table:
    rows = []
    for each in found.of("translation", test):
        result = each.result
        cells = [figure(result.score(name), True) for name in _METRICS]
        rows.append((label(result), result.system.strategy or "–", *cells))
    reference = [
        f"{name} {score.details['reference']:.1f}"
        for name in _METRICS
        for score in [found.of("translation", test)[0].result.score(name)]
        if score is not None and score.details.get("reference") is not None
    ]
    note = f"95 % intervals, resampling {found.of('translation', test)[0].result.unit}."
    note += f" Of the reference itself: {', '.join(reference)}." if reference else ""
    return Table(f"All metrics, {test}", ("system", "search", *_METRICS), tuple(rows), note)


def _contrastive(found: Collection, test: str) -> Table:
    results = [each.result for each in found.of("contrastive", test)]
    names = list(dict.fromkeys((line["kind"], line["name"]) for result in results for line in result.table))
    rows = []
    for kind, name in names:
        if kind == "pair at distance":
            continue
        cells = []
        for result in results:
            line = next((each for each in result.table if (each["kind"], each["name"]) == (kind, name)), None)
            cells.append("–" if line is None else f"{100 * line['right'] / line['total']:.1f} of {line['total']:,}")
        rows.append((kind, name, *cells))
    columns = ("", "", *(label(result) for result in results))
    return Table(f"Contrastive accuracy by kind, {test}", columns, tuple(rows))


def _items(found: Collection, name: str) -> Table:
    results = [each.result for each in found.of("items") if str(each.result.extra.get("set")) == name]
    amounts = sorted({result.variant for result in results}, key=amount)
    rows = []
    for system in dict.fromkeys(result.system.name for result in results):
        of_system = {result.variant: result for result in results if result.system.name == system}
        for metric in ("expected form", "formality F1"):
            cells = [figure(of_system[each].score(metric), True) if each in of_system else "–" for each in amounts]
            rows.append((system, metric, *cells))
    columns = ("system", "metric", *(f"{each} preceding" for each in amounts))
    return Table(f"Items in context, by the sentences given before them: {name}", columns, tuple(rows))


def _counts(found: Collection, test: str) -> Table | None:
    """The paper's Table 8: forms of each class in the reference, and what systems make of them."""
    results = [each.result for each in main_strategy(found.of("translation", test))]
    rows = []
    for name in ("pronoun F1", "formality F1"):
        counted = [(result, score.details["counts"]) for result in results if (score := result.score(name))]
        for form in counted[0][1]["reference"] if counted else ():
            ours = (f"{counts['hypothesis'][form]:,}" for _, counts in counted)
            rows.append((name, form, f"{counted[0][1]['reference'][form]:,}", *ours))
    columns = ("score", "class", "reference", *(label(result) for result in results))
    return Table(f"Table 8: forms counted, {test}", columns, tuple(rows)) if rows else None


def _sets(found: Collection) -> list[str]:
    """Contrastive test sets."""
    return list(dict.fromkeys(each.result.test for each in found.of("contrastive")))


def _systems(results: Iterable[Placed]) -> Sequence[str]:
    return list(dict.fromkeys(each.result.system.name for each in results))
