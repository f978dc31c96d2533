"""The figures of docs/results.md are those of the files in results/."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import results_tables
from tools.results_tables import DOCUMENT, document, figure, rendered

from fenster.evaluate.result import Result, Score
from fenster.evaluate.system import System


def test_the_document_is_up_to_date() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text.count("<!-- results\n") >= 8
    assert document(text) == text, "run: python -m tools.results_tables --write"


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(results_tables, "RESULTS", tmp_path)
    for name, right in (("a/seed-1", [8, 6, 7]), ("a/seed-2", [9, 7, 8]), ("b/seed-1", [3, 2, 3])):
        rows = tuple((float(number), 10.0) for number in right)
        score = Score(name="BLEU", score=10 * sum(right) / 3, low=1.0, high=99.0, formula="share", rows=rows)
        result = Result(kind="translation", system=System(name="x"), test="t", segments=1234, scores=(score,))
        path = tmp_path / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        result.write(path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/seed-1.json BLEU", "70.0"),
        ("a/seed-1.json BLEU interval", "70.0 (1.0–99.0)"),
        ("a/seed-*.json BLEU", "75.0 ± 7.1"),
        ("a/seed-1.json segments", "1,234"),
    ],
)
def test_figures(results: Path, text: str, expected: str) -> None:
    assert figure(text, 2) == expected


def test_differences_have_p_values(results: Path) -> None:
    assert figure("a/seed-1.json BLEU - b/seed-1.json").startswith("+43.3 (p = ")
    assert figure("a/seed-*.json BLEU - b/seed-1.json", 2).startswith("+48.3 (p = ")


def test_a_table_and_what_is_missing(results: Path) -> None:
    cells = '{who: $row, BLEU: "{$s/seed-1.json BLEU} of {$s/seed-1.json segments}"}'
    spec = f'sparse: true\nrows: {{A: {{s: a}}, C: {{s: c}}, D: ["<{{a/seed-2.json BLEU}}>"]}}\ncolumns: {cells}'
    table = rendered(spec)
    assert table.splitlines()[2:] == ["| A | 70.0 of 1,234 |", "| C |  |", "| D | <80.0> |"]
    text = f"before\n\n<!-- results\n{spec}\n-->\n\n| stale |\n\nafter\n"
    assert document(text) == f"before\n\n<!-- results\n{spec}\n-->\n\n{table}\n\nafter\n"
    assert document(document(text)) == document(text)


def test_a_metric_that_no_file_has_is_an_error(results: Path) -> None:
    with pytest.raises(ValueError, match="no TER"):
        figure("a/seed-1.json TER")


def test_files_that_are_missing_are_an_error(results: Path) -> None:
    with pytest.raises(ValueError, match="2 files, not 3"):
        figure("a/seed-*.json BLEU", 3)
    with pytest.raises(results_tables.NoResultError, match=r"no file results/c\.json"):
        rendered('rows: {A: {}}\ncolumns: {who: $row, BLEU: "{c.json BLEU}"}')
