"""`fenster evaluate`: all metrics of one system's translations of one test set."""

from __future__ import annotations

import math
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.markup import escape
from rich.table import Column, Table

from fenster.cli.decoding import Decoding, model_folder
from fenster.cli.test_set import Counting, TestSet
from fenster.cli.translations import hypotheses_path, translated
from fenster.corpus.files import not_over
from fenster.errors import ConfigError
from fenster.evaluate.evaluation import evaluate as evaluated
from fenster.evaluate.result import Result, Score, System, drawn
from fenster.evaluate.texts import Evaluated, read_hypotheses
from fenster.progress import console as stderr
from fenster.progress import wide_console


def evaluate(
    hypotheses: Path | None = None,
    /,
    *,
    test_set: TestSet = TestSet(),
    hyp: Path | None = None,
    model: Annotated[Path | None, Parameter(name=["--model", "-m"])] = None,
    system: str | None = None,
    title: str | None = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    by_document: Annotated[bool, Parameter(negative="")] = False,
    counting: Counting = Counting(),
    decoding: Decoding = Decoding(),
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """BLEU, TER, chrF, document BLEU, pronoun and formality F1 and consistency, with confidence intervals.

    Translations may come from any system: a file with a line for each segment. With --model they are made first (an
    interrupted call goes on), and kept beside --output.

    Examples:

    ```
    fenster evaluate hyp.de --test test.tsv.xz
    fenster evaluate --hyp hyp.txt --ref ref.txt --src src.txt --title baseline -o results/baseline.json
    fenster evaluate --model runs/europarl/window/model --test test.tsv.xz --beam 4 -o results/window.json
    fenster evaluate hyp.it --test test.it.tsv --rules none
    ```

    Parameters
    ----------
    hypotheses
        Translated lines, or what `fenster translate --format jsonl` wrote; also as --hyp.
    model
        Translate with this model instead.
    system
        A run below --model.
    title
        The system's name in tables.
    output
        Keep the result as JSON, for `fenster report` and tests between systems.
    by_document
        Also the scores of each document.
    """
    if (hypotheses is not None) + (hyp is not None) + (model is not None) != 1:
        raise ConfigError("what is to be evaluated?", expected="one of: a file of translations, --hyp, --model")
    path = hypotheses or hyp
    not_over(output, [path, *test_set.paths])
    documents, with_source, name = test_set.read()
    if by_document and drawn(len(documents), counting.resample) != "documents":
        raise ConfigError("--by-document needs more than one document, and --resample documents")
    who = System(name=title or (path.stem if path else ""))
    extra: dict[str, Any] = {}
    if model is not None:
        path = hypotheses_path(output)
        who, extra = translated(documents, model_folder(model, system), decoding, device, path)
        who = who.model_copy(update={} if title is None else {"name": title})
    assert path is not None
    texts = Evaluated(documents, read_hypotheses(path, documents), with_source)
    with stderr.status("scoring") if stderr.is_terminal else nullcontext():
        result = evaluated(texts, who, name, counting.options)
    extra |= {} if test_set.format is None else {"format": test_set.format}
    result = result.model_copy(update={"extra": extra})
    if output is not None:
        keep(result, output, {"hypotheses": [path], **test_set.files})
    show(result)
    if by_document:
        _show_documents(result)


def keep(result: Result, output: Path, files: dict[str, list[Path]] | None = None) -> None:
    """Write a result; files are named relative to it, so that a folder of results can move."""
    near = {
        key: tuple(os.path.relpath(path, output.parent) for path in paths) for key, paths in (files or {}).items()
    }
    result.model_copy(update={"files": near}).write(output)
    stderr.print(f"-> {output}", highlight=False, markup=False, soft_wrap=True)


def show(result: Result) -> None:
    """The readable table."""
    console = wide_console()
    units = f"{len(result.names)} documents" if result.unit == "documents" else "segments"
    what = escape(f"{result.system.name} on {result.test}")
    title = f"{what}: {result.segments:,} segments; 95 % intervals over {units}"
    table = Table("metric", "score", "95 %", "details", title=title, title_justify="left", box=None)
    for score in result.scores:
        table.add_row(score.name, number(score.score), _interval(score), _details(score))
    console.print(table)
    for reason in result.skipped:
        console.print(f"left out: {reason}", markup=False)
    for signature in dict.fromkeys(f"{score.name}: {score.signature}" for score in result.scores if score.signature):
        console.print(f"[dim]{signature}[/]")


def number(value: float | None, places: int = 1) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.{places}f}"


def _interval(score: Score) -> str:
    return f"{number(score.low)} – {number(score.high)}" if score.low is not None else ""


def _details(score: Score) -> str:
    details = score.details
    parts = [f"{key} {number(details[key])}" for key in ("precision", "recall") if key in details]
    if "counts" in details:
        pairs = [
            f"{label} {details['counts']['hypothesis'][label]}/{details['counts']['reference'][label]}"
            for label in details["counts"]["reference"]
        ]
        parts.append(f"{', '.join(pairs)} (hyp/ref, {details['counts']['sentences']} sentences)")
    if "reference" in details:
        parts.append(f"reference {number(details['reference'])}")
    if "cases" in details:
        parts.append(f"{details['cases']:,} cases")
    return ", ".join(parts)


def _show_documents(result: Result) -> None:
    table = Table(Column("document", overflow="fold"), *(score.name for score in result.scores), box=None)
    measures = [score.measure() for score in result.scores]
    for place, name in enumerate(result.names):
        table.add_row(escape(name), *(number(measure.of(measure.rows[place])) for measure in measures))
    wide_console().print(table)
