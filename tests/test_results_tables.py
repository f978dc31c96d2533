"""The tables of the documents are those of the files in results/."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools import results_tables
from tools.bench_figures import NoRowError, measured, significant
from tools.results_tables import DOCUMENTS, document, figure, missing, rendered

from fenster.evaluate.result import Result, Score
from fenster.evaluate.system import System


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_documents_are_up_to_date(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    least = {"README.md": 1, "results.md": 8, "model.md": 5, "history.md": 2, "performance.md": 12, "scale.md": 3}
    assert text.count("<!-- results\n") >= least[path.name]
    assert document(text) == text, "run: python -m tools.results_tables --write"
    assert missing(text) == [], "run: python -m tools.results_tables"


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


def test_figures_in_the_text(results: Path) -> None:
    difference = figure("a/seed-*.json BLEU - b/seed-1.json", 2)
    assert (
        figure("mean a/seed-*.json BLEU", 2) == "75.0"
        and figure("gain a/seed-*.json BLEU - b/seed-1.json", 2) == "+48.3"
    )
    assert f"+48.3 (p {figure('p a/seed-*.json BLEU - b/seed-1.json', 2)})" == difference
    comment = '<!-- figures\nseeds: 2\npassages: ["from 26.7 to {mean a/seed-*.json BLEU}"]\n-->\n'
    assert missing(comment + "It rose from 26.7\nto 75.0 points.") == []
    assert missing(comment + "It rose from 26.7 to 74.0 points.") == ["from 26.7 to 75.0"]


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x.json | way=a, b, length=8 | seconds ms", "1.23 ms"),
        ("x.json | way=a, b, length=16 | seconds ms", "2,469 ms"),
        ("x.json | way=a, b, length=8 | memory MiB", "3 MiB"),
        ("x.json | way=a, b, length=16 | seconds / way=a, b, length=8", "2000.0"),
        ("x.json | program=fenster | sentences", "7.42"),
        ("x.json | way=a, b, length=16 | length/seconds count", "6"),
    ],
)
def test_figures_of_measurements(tmp_path: Path, text: str, expected: str) -> None:
    rows = '[{"way": "a, b", "length": 8, "seconds": 0.0012345, "memory": 3145728}, '
    rows += '{"way": "a, b", "length": 16, "seconds": 2.469, "memory": 0}]'
    (tmp_path / "x.json").write_text(
        f'{{"rows": {rows}, "programs": [{{"program": "fenster", "sentences": 7.4189}}]}}'
    )
    assert measured(text, tmp_path) == expected
    with pytest.raises(NoRowError):
        measured("x.json | way=b | seconds", tmp_path)
    with pytest.raises(ValueError, match="2 rows"):
        measured("x.json | way=a, b | seconds", tmp_path)


def test_significant_digits() -> None:
    assert [significant(value) for value in (0, 0.0433, 7.416, 45.38, 273.4, 12_399.2)] == [
        "0", "0.0433", "7.42", "45.4", "273", "12,399",
    ]  # fmt: skip


def test_results_name_no_folder_of_some_machine() -> None:
    paths = list(results_tables.ROOT.joinpath("results").rglob("*.json"))
    assert len(paths) > 100
    assert [path for path in paths if re.search(r"/(tmp|home|work|root)/", path.read_text("utf-8"))] == []
