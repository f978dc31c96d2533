"""Render the tables of documents from the files in results/, and check the figures in their text:
python -m tools.results_tables [--write]

A table follows an HTML comment that says what is in it; `--write` puts in what the files say, and a test checks that
the document is up to date:

    <!-- results
    rows: {Europarl: {t: europarl}, TED: {t: ted}}
    columns:
      test set: $row
      BLEU: "{default/$t.json BLEU interval}"
      to single sentences: "{default/$t.json BLEU - default/$t.sentence.json}"
    -->

`$name` stands for a row's variable, `$row` for its label; a row may also be the list of its cells. In braces: a file
below results/ (or several, as `seed-*`), a metric, and what of it: nothing (the score, over several files the mean
and deviation), `interval`, `unseen` (without what is in the
training data), `- FILE` (the difference to another, with its p-value; over several
files a test over seeds and documents). `segments`, `perplexity` (of validation; also of a run's log) and `of NAME` (a
line of a contrastive result) are metrics, too. `seeds: 3` says how many files patterns stand for; `sparse: true`,
that some cells have no files and are empty. What `fenster bench` measured: see bench_figures.

Figures in the text are checked: passages of the document, in the same comment or in any other one that begins with
`<!-- figures`. In braces, `mean`, `gain` and `p` before the file give a mean alone, and the parts of a difference.

    <!-- figures
    seeds: 3
    passages:
      - "on talks ({mean a/seed-*/ted.json BLEU} to {mean b/seed-*/ted.json BLEU}, p {p b/… BLEU - a/…})"
    -->
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import yaml

from fenster.evaluate.report.table import markdown_grid, mean_figure
from fenster.evaluate.result import Result, Score, compare_scores
from tools.bench_figures import NoRowError, measured

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = (
    ROOT / "README.md",
    *(ROOT / "docs" / name for name in ("results.md", "model.md", "history.md", "performance.md", "scale.md")),
)
RESULTS = ROOT / "results"
_TABLE = re.compile(r"(<!-- results\n(.*?)\n-->\n\n)(.*?)(?=\n\n|\Z)", re.DOTALL)
_FIGURES = re.compile(r"<!-- figures\n(.*?)\n-->", re.DOTALL)
_PARTS = ("mean", "gain", "p")
_CELL = re.compile(r"\{([^{}]+)\}")


class NoResultError(Exception):
    """A file that a cell needs is not there."""


@cache
def _read(path: Path) -> Result:
    return Result.read(path)


def _paths(pattern: str, seeds: int | None) -> list[Path]:
    paths = sorted(RESULTS.glob(pattern))
    if not paths:
        raise NoResultError(f"no file results/{pattern}")
    if "*" in pattern and len(paths) != seeds:
        raise ValueError(f"results/{pattern}: {len(paths)} files, not {seeds}")
    return paths


def _results(pattern: str, seeds: int | None) -> list[Result]:
    return [_read(path) for path in _paths(pattern, seeds)]


def _scores(results: Sequence[Result], metric: str) -> list[Score]:
    scores = [score for result in results if (score := result.score(metric)) is not None]
    if len(scores) != len(results):
        raise ValueError(f"a file has no {metric}")
    return scores


def figure(text: str, seeds: int | None = None) -> str:
    """What stands for one pair of braces."""
    if " | " in text:
        return measured(text, RESULTS)
    part, _, whole = text.partition(" ")
    if part in _PARTS:
        return _part(part, figure(whole, seeds))
    pattern, _, rest = text.partition(" ")
    if pattern.endswith(".jsonl"):
        return _best_perplexity(_paths(pattern, seeds))
    results = _results(pattern, seeds)
    if rest == "segments":
        return f"{results[0].segments:,}"
    if rest == "perplexity":
        return f"{results[0].system.training['valid_perplexity']:.2f}"
    if rest.startswith("of "):
        lines = [line for line in results[0].table if line["name"] == rest.removeprefix("of ")]
        return f"{100 * lines[0]['right'] / lines[0]['total']:.1f}"
    metric, _, other = rest.partition(" - ")
    wanted, _, how = metric.rpartition(" ") if metric.endswith((" interval", " unseen")) else (metric, "", "")
    scores = _scores(results, wanted)
    if other:
        compared = compare_scores(scores, _scores(_results(other, seeds), wanted))
        if compared is None:
            raise ValueError(f"{text}: scores that cannot be compared")
        return f"{compared.difference:+.1f} (p {_p(compared.p)})"
    values = [score.score for score in scores if score.score is not None]
    if how == "interval":
        (score,) = scores
        return f"{score.score:.1f} ({score.low:.1f}–{score.high:.1f})"
    if how == "unseen":
        (score,) = scores
        if score.unseen is None:
            raise NoResultError(f"{pattern}: what is in the training data was not counted")
        return f"{score.unseen:.1f}"
    return mean_figure(values)


def _part(part: str, whole: str) -> str:
    """Of `25.8 ± 0.1` or `+0.4 (p = .002)` the mean, the difference or its p-value."""
    number, _, p = whole.partition(" (p ")
    return {"mean": whole.partition(" ±")[0], "gain": number, "p": p.removesuffix(")")}[part]


def _best_perplexity(paths: Sequence[Path]) -> str:
    """Of runs, from their logs."""
    entries = [[json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] for path in paths]
    best = [min(entry["perplexity"] for entry in log if entry["kind"] == "valid") for log in entries]
    return f"{statistics.mean(best):.2f}"


def _p(p: float) -> str:
    """.016, and .001 for the least that a thousand samples can show."""
    return "= –" if np.isnan(p) else f"= {p:.3f}".replace("0.", ".") if p < 1 else "= 1"


def rendered(spec: str) -> str:
    """A table as Markdown."""
    wanted: dict[str, Any] = yaml.safe_load(spec)
    rows = []
    for label, given in wanted["rows"].items():
        cells = ["$row", *given] if isinstance(given, list) else list(wanted["columns"].values())
        variables = {"row": label} | (given if isinstance(given, dict) else {})
        made = [_cell(Template(str(cell)).substitute(variables), wanted) for cell in cells]
        rows.append(made)
    return "\n".join(markdown_grid([str(name) for name in wanted["columns"]], rows))


def _cell(template: str, spec: dict[str, Any]) -> str:
    try:
        return _CELL.sub(lambda match: figure(match[1], spec.get("seeds")), template)
    except (NoResultError, NoRowError):
        if spec.get("sparse"):
            return ""
        raise


def document(text: str) -> str:
    """The same with every table made anew."""
    return _TABLE.sub(lambda match: match[1] + rendered(match[2]), text)


def missing(text: str) -> list[str]:
    """The passages, as the files have their figures, that the text of a document does not have."""
    prose = " ".join(re.sub("<!--.*?-->", "", text, flags=re.DOTALL).split())
    listed: list[str] = []
    for match in _FIGURES.finditer(text):
        spec: dict[str, Any] = yaml.safe_load(match[1])
        passages = (" ".join(_cell(str(one), spec).split()) for one in spec["passages"])
        listed += [passage for passage in passages if passage not in prose]
    return listed


def main() -> None:
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        made = document(text)
        if "--write" in sys.argv:
            path.write_text(made, encoding="utf-8")
        else:
            print(path.name, "is up to date" if made == text else "differs: run with --write")
        for passage in missing(made):
            print(f"  the files say: {passage}")


if __name__ == "__main__":
    main()
