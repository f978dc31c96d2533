"""The paper's tables with our figures, the paper's beside them if it has one for the same kind of system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from fenster.evaluate.report.collect import Collection, Placed, contrastive_sets, label, main_strategy, system_names
from fenster.evaluate.report.table import Table, figure
from fenster.evaluate.result import Result

_PAPER: dict[str, list[dict[str, Any]]] = yaml.safe_load((Path(__file__).parent / "paper.yaml").read_text("utf-8"))
_BEST_WINDOW = ("relative", 20)


def paper_tables(collection: Collection) -> Iterator[Table | None]:
    """Tables 1, 3, 4, 5 and 6; None for those without results."""
    yield _attention(collection)
    for test in collection.tests():
        yield _search(collection, test)
    for test in collection.tests():
        yield _tuning(collection, test)
    yield _final(collection)
    yield _pronouns(collection)


def _paper(table: str, result: Result, *keys: str) -> dict[str, Any]:
    """The paper's row for the same kind of system; empty if it has none: it decodes no single sentences with document
    systems, and other windows than relative ones of 20, or with other alignments, are in its Table 4 only."""
    system = result.system.model_dump()
    usual = system["window"] is None or (
        system["alignment"] in ("linear", "sent-align") and (system["positions"], system["window"]) == _BEST_WINDOW
    )
    if not (usual or "alignment" in keys) or system["strategy"] == "sentence" != system["attention"]:
        return {}
    for row in _PAPER[table]:
        if all(row.get(key) == system.get(key) for key in keys):
            return row
    return {}


def _number(row: dict[str, Any], key: str, index: int | None = None) -> str:
    value = row.get(key)
    if value is None:
        return "–"
    return f"{value if index is None else value[index]:.1f}"


def _attention(collection: Collection) -> Table | None:
    rows = []
    for placed in collection.of("attention"):
        result = placed.result
        paper = _paper("table1", result, "attention", "context")
        effective = result.extra.get("effective_context")
        bleu = next(
            (
                figure(other.result.score("BLEU"))
                for other in main_strategy(collection.of("translation", result.test))
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
                f"{effective} tokens" if effective is not None else result.system.context or "–",
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


def _search(collection: Collection, test: str) -> Table | None:
    by_system: dict[str, dict[str, Placed]] = {}
    for placed in collection.of("translation", test):
        by_system.setdefault(placed.result.system.name, {})[placed.result.system.strategy or ""] = placed
    if all(len(placed) < 2 for placed in by_system.values()):
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


def _tuning(collection: Collection, test: str) -> Table | None:
    results = main_strategy(collection.of("translation", test))
    windows = [placed for placed in results if placed.result.system.window is not None]
    if len(windows) < 2:
        return None
    contexts = {placed.result.system.context for placed in windows}
    rows = []
    for placed in results:
        system = placed.result.system
        if system.context not in contexts:
            continue
        keys = ("attention", "positions", "alignment", "window")
        paper = _paper("table4", placed.result, *(keys if system.window is not None else keys[:2]))
        rows.append(
            (
                system.name,
                {"sinusoidal": "abs", "relative": "rel"}.get(system.positions or "", "–"),
                system.alignment or "–",
                "–" if system.window is None else str(system.window),
                figure(placed.result.score("BLEU")),
                figure(placed.result.score("TER")),
                _number(paper, "bleu"),
                _number(paper, "ter"),
            )
        )
    columns = ("system", "pos.", "alignment", "w", "BLEU", "TER", "paper BLEU", "paper TER")
    return Table(f"Table 4: windows, {test}", columns, tuple(rows), "Paper: NEWS.")


def _final(collection: Collection) -> Table:
    results = main_strategy(collection.of("translation"))
    tests, rows = collection.tests(), []
    for name in system_names(results):
        of_system = {placed.result.test: placed.result for placed in results if placed.result.system.name == name}
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


def _pronouns(collection: Collection) -> Table | None:
    results = main_strategy(collection.of("translation"))
    sets = contrastive_sets(collection)
    contrastive = {
        placed.result.system.name: placed.result for placed in collection.of("contrastive", sets[0] if sets else "")
    }
    if not contrastive and not any(placed.result.score("pronoun F1") for placed in results):
        return None
    tests, rows = collection.tests(), []
    for name in dict.fromkeys([*system_names(results), *contrastive]):
        of_system = {placed.result.test: placed.result for placed in results if placed.result.system.name == name}
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
