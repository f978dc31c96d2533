"""The tables of a report, from made-up results of every kind of system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fenster.errors import ConfigError, InputError
from fenster.evaluate.report.collect import collect
from fenster.evaluate.report.table import Table
from fenster.evaluate.report.tables import tables
from fenster.evaluate.result import Result, Score
from fenster.evaluate.system import System

SENTENCE: dict[str, Any] = {
    "name": "sentence",
    "attention": "sentence",
    "context": "0 sent.",
    "positions": "sinusoidal",
}
CONCAT: dict[str, Any] = {
    "name": "concat 2 sent.",
    "attention": "full",
    "context": "2 sent.",
    "positions": "sinusoidal",
}
WINDOW: dict[str, Any] = {
    "name": "window",
    "attention": "window",
    "context": "1000 tok.",
    "positions": "relative",
    "alignment": "sent-align",
    "window": 20,
}


def share(name: str, right: list[int]) -> Score:
    """A score of ten cases a document."""
    rows = tuple((float(each), 10.0) for each in right)
    return Score(name=name, score=10 * sum(right) / len(right), low=1.0, high=99.0, formula="share", rows=rows)


def result(system: dict[str, Any], right: list[int], kind: Any = "translation", **more: Any) -> Result:
    scores = [share(name, right) for name in ("BLEU", "TER", "pronoun F1", "formality F1")]
    counts = {"reference": {"formal": 7, "informal": 3}, "hypothesis": {"formal": 8, "informal": 2}}
    scores[3] = scores[3].model_copy(update={"details": {"counts": counts}})
    scores[2] = scores[2].model_copy(
        update={"details": {"counts": {"reference": {"neuter": 5}, "hypothesis": {"neuter": 4}}}}
    )
    given = {"test": "ep", "names": tuple(map(str, range(len(right)))), "scores": tuple(scores)} | more
    return Result(kind=kind, system=System(**system), **given)


@pytest.fixture
def made(tmp_path: Path) -> dict[str, Table]:
    accuracy = (share("contrastive accuracy", [5, 6, 7]),)
    results = [
        result(WINDOW | {"strategy": "sequential"}, [9, 8, 9, 8]),
        result(WINDOW | {"strategy": "full-segment"}, [8, 7, 8, 7]),
        result(WINDOW | {"name": "window w10", "window": 10, "strategy": "sequential"}, [5, 5, 5, 5]),
        result(CONCAT | {"strategy": "full-segment"}, [6, 6, 6, 6]),
        result(SENTENCE | {"strategy": "sentence"}, [2, 3, 2, 3]),
        result(WINDOW, [0, 0, 0], kind="contrastive", test="contrapro", scores=accuracy),
        result(SENTENCE, [0, 0, 0], kind="contrastive", test="contrapro", scores=accuracy),
        result(SENTENCE, [0, 0, 0], kind="attention", scores=(), extra={"cross": 1.0, "last": 1.0}),
        result(
            WINDOW,
            [0, 0, 0],
            kind="attention",
            scores=(),
            extra={"cross": 0.7, "last": 0.8, "effective_context": 360},
        ),
        result(
            WINDOW,
            [4, 4],
            kind="items",
            test="ctx, 0",
            variant="0",
            extra={"set": "ctx"},
            scores=(share("expected form", [4, 4]),),
        ),
        result(
            WINDOW,
            [6, 6],
            kind="items",
            test="ctx, all",
            variant="all",
            extra={"set": "ctx"},
            scores=(share("expected form", [6, 6]),),
        ),
    ]
    for number, each in enumerate(results):
        each.write(tmp_path / f"{number}.json")
    return {table.title: table for table in tables(collect([tmp_path]))}


def test_tables_are_the_paper_s(made: dict[str, Table]) -> None:
    attention = made["Table 1: attention on the current sentence"]
    assert attention.rows[0] == ("sentence", "ep", "100.0", "100.0", "25.0", "0 sent.", "100.0", "32.8")
    assert attention.rows[1][2:6] == ("70.0", "80.0", "85.0", "360 tokens")
    search = {row[0]: row[1:] for row in made["Table 3: search, BLEU on ep"].rows}
    assert search["window"] == ("–", "75.0 (1.0–99.0)", "85.0 (1.0–99.0)", "–", "31.5", "33.1")
    assert search["sentence"] == ("25.0 (1.0–99.0)", "–", "–", "32.8", "–", "–")
    windows = {row[0]: row[1:] for row in made["Table 4: windows, ep"].rows}
    assert windows["window"] == ("rel", "sent-align", "20", "85.0", "85.0", "33.1", "48.1")
    assert windows["window w10"][-2:] == ("30.6", "51.8")
    final = {row[0]: row[1:] for row in made["Table 5: BLEU / TER"].rows}
    assert final["concat 2 sent."] == (
        "2 sent.", "full-segment", "60.0 / 60.0", "33.4 / 48.6", "34.3 / 46.3", "38.2 / 43.9"
    )  # fmt: skip
    pronouns = {row[0]: row[1:] for row in made["Table 6: pronouns and formality"].rows}
    assert pronouns["window"] == (
        "60.0 (1.0–99.0)", "85.0 / 85.0", "63.0 / 51.9", "83.9 / 66.5", "67.9"
    )  # fmt: skip
    assert ("formality F1", "informal", "3", "2", "2", "2", "2") in made["Table 8: forms counted, ep"].rows


def test_differences_are_tested_in_pairs(made: dict[str, Table]) -> None:
    rows = made["Difference to sentence, ep"].rows
    best = next(row for row in rows if row[:2] == ("window", "sequential"))
    assert best[2].startswith("+60.0 (p = 0.0")
    assert "Difference to sentence, contrapro" in made
    items = made["Items in context, by the sentences given before them: ctx"]
    assert items.columns[2:] == ("0 preceding", "all preceding") and items.rows[0][2:] == (
        "40.0 (1.0–99.0)", "60.0 (1.0–99.0)"
    )  # fmt: skip


def test_differences_to_another_system(tmp_path: Path) -> None:
    for number, (system, strategy, right) in enumerate(
        ((WINDOW, "full-segment", [1, 1]), (WINDOW, "sequential", [4, 5]), (SENTENCE, "sentence", [2, 3]))
    ):
        result(system | {"strategy": strategy}, right).write(tmp_path / f"{number}.json")
    made = {table.title: table for table in tables(collect([tmp_path]), "window")}
    rows = made["Difference to window (sequential), ep"].rows
    assert [(row[0], row[1], row[2].split()[0]) for row in rows] == [
        ("sentence", "sentence", "-20.0"), ("window", "full-segment", "-35.0")
    ]  # fmt: skip
    with pytest.raises(ConfigError, match=r"no system is called 'none'\n.*sentence \| window"):
        tables(collect([tmp_path]), "none")


def test_the_order_is_the_paper_s(tmp_path: Path) -> None:
    for number, system in enumerate((WINDOW, CONCAT, SENTENCE, {"name": "theirs"})):
        result(system, [1]).write(tmp_path / f"{number}.json")
    names = [each.result.system.name for each in collect([tmp_path]).results]
    assert names == ["theirs", "sentence", "concat 2 sent.", "window"]
    sizes = [System(**WINDOW | {"context": name}).context_tokens for name in ("2 sent.", "1000 tok.", "document")]
    assert sizes == [50, 1000, None]


def test_systems_of_one_name_are_told_apart_by_their_settings(tmp_path: Path) -> None:
    for number, alignment in enumerate(("sent-align", "one-to-one")):
        system = WINDOW | {"strategy": "sequential", "alignment": alignment}
        result(system, [number + 1, 2]).write(tmp_path / f"{number}.json")
    made = {table.title: table for table in tables(collect([tmp_path]))}
    names = {row[0]: row[2] for row in made["Table 4: windows, ep"].rows}
    assert names == {"window (alignment one-to-one)": "one-to-one", "window (alignment sent-align)": "sent-align"}
    (tmp_path / "later").mkdir()
    result(WINDOW | {"strategy": "sequential", "alignment": "one-to-one"}, [1, 2]).write(
        tmp_path / "later" / "1.json"
    )
    assert {one.result.system.name for one in collect([tmp_path]).results} == {
        "window (alignment sent-align)",
        "window (alignment one-to-one) [1]",
        "window (alignment one-to-one) [later]",
    }


def test_the_paper_has_no_figures_for_what_it_did_not_do(tmp_path: Path) -> None:
    """A document-level model that decodes single sentences is none of its systems; alignments are in Table 4."""
    result(WINDOW | {"strategy": "sentence"}, [1, 2]).write(tmp_path / "0.json")
    result(WINDOW | {"name": "1-1", "alignment": "one-to-one"}, [1, 2]).write(tmp_path / "1.json")
    made = {table.title[:7]: table for table in tables(collect([tmp_path]))}
    assert [row[-3:] for row in made["Table 5"].rows] == [("–", "–", "–")] * 2
    (aligned,) = (row for row in made["Table 4"].rows if row[0] == "1-1")
    assert aligned[-2:] == ("31.9", "49.8")


def test_test_sets_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for number, segments in enumerate((10, 20)):
        result(SENTENCE | {"name": f"s{number}"}, [1, 2], segments=segments).write(tmp_path / f"{number}.json")
    assert sorted(collect([tmp_path]).tests()) == ["ep (10 segments)", "ep (20 segments)"]
    (tmp_path / "bench.json").write_text('{"beam": 4}')
    assert [path.name for path in collect([tmp_path]).skipped] == ["bench.json"]


def test_what_is_no_result_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no result in this folder"):
        collect([tmp_path])
    (tmp_path / "other.json").write_text('{"a": 1}')
    with pytest.raises(InputError, match="no result in this folder"):
        collect([tmp_path])
    with pytest.raises(InputError, match=r"other\.json: not a result"):
        collect([tmp_path / "other.json"])
    (tmp_path / "damaged.json").write_text('{"kind": "translation", "a": 1}')
    with pytest.raises(InputError, match=r"damaged\.json: not a result"):
        collect([tmp_path])
