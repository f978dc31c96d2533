"""`fenster report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fenster.errors import ConfigError, counted
from fenster.evaluate.report import collect, write_report
from fenster.io.files import check_not_input
from fenster.io.plotting import pyplot
from fenster.io.progress import report as say


def report(
    results: list[Path],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("report.html"),
    title: str = "Fenster: systems compared",
    against: str | None = None,
    rules: str = "en-de",
    examples: int = 2,
) -> None:
    """One page about many systems: the paper's tables with our figures, significance, plots and examples.

    Writes a self-contained HTML page, and the same as Markdown beside it.

    Examples: `fenster report results/ -o report.html`; `fenster report results/ep --against window`

    Parameters
    ----------
    results
        Results that evaluate, contrapro, items, distance and attention saved with --output, or folders of them.
    output
        The page to write.
    title
        Title of the page.
    against
        The system that the others are compared with, by its name in the tables; by default the first.
    rules
        Word lists whose formality forms are marked in examples.
    examples
        Number of document excerpts per test set, side by side; only if translations and test set still exist.
    """
    if examples < 0:
        raise ConfigError(f"--examples is {examples}", expected="0 or more")
    if output.suffix == ".json" or output.name.endswith(".json.xz"):
        raise ConfigError(
            "looks like a result file; the report is an HTML page",
            path=output,
            fix="choose a name that ends in .html",
        )
    if output.suffix == ".md":
        raise ConfigError(
            "the page is HTML; Markdown is written beside it", path=output, fix="choose a name that ends in .html"
        )
    collection = collect(results)
    if collection.skipped:
        some = collection.skipped[0]
        say(f"{counted(len(collection.skipped), 'JSON file')} skipped for lack of results, such as {some}")
    read = [path for placed in collection.results for names in placed.result.files for path in placed.files(names)]
    for written in (output, output.with_suffix(".md")):
        check_not_input(written, read)

    if pyplot() is None:
        say("no plots: matplotlib is not installed (pip install 'fenster[plot]')")
    for path in write_report(
        collection, output, title=title, against=against, rules=rules, examples_each=examples, say=say
    ):
        print(f"-> {path}")
