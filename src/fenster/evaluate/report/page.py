"""A report as one self-contained HTML page, and the same as Markdown with pictures beside it."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from fenster import __version__
from fenster.evaluate.report.collect import Collection
from fenster.evaluate.report.examples import Example, Marked, examples
from fenster.evaluate.report.plots import plots
from fenster.evaluate.report.table import Table
from fenster.evaluate.report.tables import tables
from fenster.io.files import atomic_path, atomic_text

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --formal: #1a62c4; --informal: #c2570c; }
@media (prefers-color-scheme: dark) { :root { --formal: #7db4ff; --informal: #ffa45c; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .7rem; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid var(--line); }
figure { margin: 1rem 0; background: #fff; color: #222; padding: .6rem; border-radius: .4rem; max-width: 100%; }
figure { display: inline-block; }
figure img { max-width: 100%; }
.note, figcaption { font-size: .82rem; opacity: .8; }
.formal { color: var(--formal); font-weight: 650; } .informal { color: var(--informal); font-weight: 650; }
td { white-space: nowrap; }
.examples td { min-width: 11rem; white-space: normal; }
"""


def write_report(
    found: Collection,
    output: Path,
    *,
    title: str,
    against: str | None,
    rules: str,
    examples_each: int,
    say: Callable[[str], None],
) -> list[Path]:
    """Write OUTPUT (HTML), the same with .md, and pictures in a folder beside it for the latter. `say` hears what had
    to be left out."""
    shown, chosen = tables(found, against), list(examples(found, rules, examples_each, say))
    pictures: list[tuple[str, str, bytes]] = []
    for name, caption, figure in plots(found):
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=130)
        pictures.append((re.sub(r"[^\w.-]+", "-", name), caption, buffer.getvalue()))
    with atomic_text(output) as stream:
        stream.write(_html(title, found, shown, pictures, chosen))
    markdown = output.with_suffix(".md")
    folder = output.with_suffix("").with_name(f"{output.stem}-pictures")
    for name, _, data in pictures:
        with atomic_path(folder / f"{name}.png") as temporary:
            temporary.write_bytes(data)
    with atomic_text(markdown) as stream:
        stream.write(_markdown(title, found, shown, pictures, folder.name, chosen))
    return [output, markdown]


def _signatures(found: Collection) -> list[str]:
    return list(
        dict.fromkeys(
            f"{score.name}: {score.signature}"
            for each in found.results
            for score in each.result.scores
            if score.signature
        )
    )


def _html(
    title: str,
    found: Collection,
    shown: Sequence[Table],
    pictures: Sequence[tuple[str, str, bytes]],
    chosen: Sequence[Example],
) -> str:
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>',
        f"<h1>{escape(title)}</h1><p class=note>{len(found.results)} results; fenster {__version__}</p>",
    ]
    for table in shown:
        head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
        parts.append(f"<h2>{escape(table.title)}</h2><div class=wide><table><thead><tr>{head}</tr></thead>")
        parts.append(f"<tbody>{body}</tbody></table></div>")
        if table.note:
            parts.append(f"<p class=note>{escape(table.note)}</p>")
    if pictures:
        parts.append("<h2>Pictures</h2>")
    for _, caption, data in pictures:
        encoded = base64.b64encode(data).decode()
        image = f'<img alt="{escape(caption)}" src="data:image/png;base64,{encoded}">'
        parts.append(f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>")
    if chosen:
        parts.append("<h2>Documents side by side (Table 7)</h2><p class=note>Where the source says “you”: ")
        parts.append("<span class=formal>formal</span> and <span class=informal>informal</span> forms.</p>")
    for example in chosen:
        head = "".join(f"<th>{escape(column)}</th>" for column in example.columns)
        body = "".join(f"<tr>{''.join(f'<td>{_spans(cell)}</td>' for cell in row)}</tr>" for row in example.rows)
        parts.append(
            f"<p class=note>{escape(example.test)}, document {escape(example.document)} "
            f"from segment {example.first}</p>"
        )
        parts.append(f"<div class='wide examples'><table><tr>{head}</tr>{body}</table></div>")
    parts.append("<h2>Signatures</h2><p class=note>")
    parts.append("<br>".join(map(escape, _signatures(found))) + "</p></body></html>\n")
    return "\n".join(parts)


def _spans(cell: Marked) -> str:
    return "".join(
        f"<span class={escape(kind)}>{escape(text)}</span>" if kind else escape(text) for text, kind in cell
    )


def _markdown(
    title: str,
    found: Collection,
    shown: Sequence[Table],
    pictures: Sequence[tuple[str, str, bytes]],
    folder: str,
    chosen: Sequence[Example],
) -> str:
    parts = [f"# {title}", "", f"{len(found.results)} results; fenster {__version__}"]
    for table in shown:
        parts += ["", f"## {table.title}", "", *_grid(table.columns, table.rows)]
        parts += ["", table.note] if table.note else []
    for name, caption, _ in pictures:
        parts += ["", f"![{caption}]({folder}/{name}.png)"]
    if chosen:
        parts += [
            "",
            "## Documents side by side (Table 7)",
            "",
            "**formal** and *informal* forms where the source says you.",
        ]
    for example in chosen:
        rows = [tuple(_stars(cell) for cell in row) for row in example.rows]
        parts += ["", f"{example.test}, document {example.document} from segment {example.first}", ""]
        parts += _grid(example.columns, rows)
    parts += ["", "## Signatures", "", *(f"- {each}" for each in _signatures(found)), ""]
    return "\n".join(parts)


def _grid(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [line(columns), "|" + "---|" * len(columns), *map(line, rows)]


def _stars(cell: Marked) -> str:
    marks = {"formal": "**", "informal": "*"}
    return "".join(f"{marks.get(kind, '')}{text}{marks.get(kind, '')}" for text, kind in cell)
