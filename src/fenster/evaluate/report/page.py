"""A report as one self-contained HTML page, and the same as Markdown with plots beside it."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from fenster import __version__
from fenster.evaluate.report.collect import Collection
from fenster.evaluate.report.examples import Example, Marked, examples
from fenster.evaluate.report.plots import plots
from fenster.evaluate.report.table import Table, markdown, markdown_grid
from fenster.evaluate.report.tables import tables
from fenster.io.files import atomic_path, atomic_text

_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=jinja2.StrictUndefined
)


@dataclass(frozen=True)
class Plot:
    name: str
    caption: str
    png: bytes

    @property
    def base64(self) -> str:
        return base64.b64encode(self.png).decode()


@dataclass(frozen=True)
class Report:
    """What both forms of a report show."""

    title: str
    count: int
    tables: Sequence[Table]
    plots: Sequence[Plot]
    examples: Sequence[Example]
    signatures: Sequence[str]


def write_report(
    collection: Collection,
    output: Path,
    *,
    title: str,
    against: str | None,
    rules: str,
    examples_each: int,
    say: Callable[[str], None],
) -> list[Path]:
    """Write OUTPUT (HTML), the same with .md, and plots in a folder beside it for the latter. `say` is called with
    what had to be left out."""
    report = Report(
        title,
        len(collection.results),
        tables(collection, against),
        [_plot(name, caption, figure) for name, caption, figure in plots(collection)],
        list(examples(collection, rules, examples_each, say)),
        _signatures(collection),
    )
    with atomic_text(output) as stream:
        stream.write(_TEMPLATES.get_template("page.html.j2").render(vars(report), version=__version__))
    markdown = output.with_suffix(".md")
    folder = output.with_suffix("").with_name(f"{output.stem}-pictures")
    for plot in report.plots:
        with atomic_path(folder / f"{plot.name}.png") as temporary:
            temporary.write_bytes(plot.png)
    with atomic_text(markdown) as stream:
        stream.write(_markdown(report, folder.name))
    return [output, markdown]


def _plot(name: str, caption: str, figure: object) -> Plot:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)  # type: ignore[attr-defined]
    return Plot(re.sub(r"[^\w.-]+", "-", name), caption, buffer.getvalue())


def _signatures(collection: Collection) -> list[str]:
    scores = (score for placed in collection.results for score in placed.result.scores)
    return list(dict.fromkeys(f"{score.name}: {score.signature}" for score in scores if score.signature))


def _markdown(report: Report, folder: str) -> str:
    parts = [f"# {report.title}", "", f"{report.count} results; fenster {__version__}"]
    for table in report.tables:
        parts += ["", *markdown(table)]
    for plot in report.plots:
        parts += ["", f"![{plot.caption}]({folder}/{plot.name}.png)"]
    if report.examples:
        parts += [
            "",
            "## Documents side by side (Table 7)",
            "",
            "**formal** and *informal* forms where the source says you.",
        ]
    for example in report.examples:
        rows = [tuple(_stars(cell) for cell in row) for row in example.rows]
        parts += ["", f"{example.test}, document {example.document} from segment {example.first}", ""]
        parts += markdown_grid(example.columns, rows)
    parts += ["", "## Signatures", "", *(f"- {signature}" for signature in report.signatures), ""]
    return "\n".join(parts)


def _stars(cell: Marked) -> str:
    marks = {"formal": "**", "informal": "*"}
    return "".join(f"{marks.get(kind, '')}{text}{marks.get(kind, '')}" for text, kind in cell)
