"""`fenster report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fenster.corpus.files import not_over
from fenster.errors import ConfigError
from fenster.evaluate.report import collect, write_report
from fenster.picture import pyplot
from fenster.progress import console as stderr


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
        What evaluate, contrapro, items, distance and attention kept with --output; or folders of it.
    output
        The page to write.
    title
        Of the page.
    against
        The system, as tables name it, that the others are compared with; by default the first.
    rules
        Word lists whose formality forms are marked in examples.
    examples
        Stretches of documents of each test set, side by side; only where translations and test set are still there.
    """
    if examples < 0:
        raise ConfigError(f"--examples is {examples}", expected="0 or more")
    if output.suffix == ".json" or output.name.endswith(".json.xz"):
        raise ConfigError("is the name of a result, and a page is to be written", path=output, fix="name it .html")
    if output.suffix == ".md":
        raise ConfigError("the page is HTML; Markdown is written beside it", path=output, fix="name it .html")
    found = collect(results)
    read = [path for each in found.results for names in each.result.files for path in each.files(names)]
    for written in (output, output.with_suffix(".md")):
        not_over(written, read)

    def say(text: str) -> None:
        stderr.print(text, highlight=False, markup=False)

    if pyplot() is None:
        say("no pictures: matplotlib is not installed (pip install 'fenster[plot]')")
    for path in write_report(
        found, output, title=title, against=against, rules=rules, examples_each=examples, say=say
    ):
        print(f"-> {path}")
