"""Bilingual tables in CSV with a header: columns `source` and `target`, or two that are named after languages, and
`document` if wanted."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from fenster.data.corpora.format import Format
from fenster.data.corpora.plain import Row, grouped
from fenster.document import ParallelDocument
from fenster.errors import InputError, counted
from fenster.io.files import TextFiles
from fenster.language import languages, load_language


def read_csv(paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    (path,) = paths
    return grouped(_rows(path, files), path)


def _rows(path: Path, files: TextFiles) -> Iterator[Row]:
    lines = (f"{text}\n" for _, text in files.lines(path))
    first = next(lines, "")
    delimiter = max(",;\t", key=first.count)
    header = next(csv.reader([first], delimiter=delimiter), [])
    source, target, document = _columns(header, path)
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for cells in rows:
            if not any(cells):
                continue
            line = rows.line_num + 1
            if len(cells) != len(header):
                raise InputError(
                    counted(len(cells), "cell"), path=path, line=line, expected=f"{len(header)}, as the header has"
                )
            name = path.name.split(".")[0] if document is None else cells[document]
            yield Row(line, name, name, cells[source], cells[target])
    except csv.Error as error:
        raise InputError(f"not CSV ({error})", path=path, line=rows.line_num + 1) from None


def _columns(header: Sequence[str], path: Path) -> tuple[int, int, int | None]:
    """Where source, target and document are."""
    names = [name.strip().lower() for name in header]
    known = {code: code for code in languages()} | {load_language(code).name.lower(): code for code in languages()}
    document = next((number for number, name in enumerate(names) if name in ("document", "file")), None)
    if "source" in names and "target" in names:
        return names.index("source"), names.index("target"), document
    named = [number for number, name in enumerate(names) if name.replace("_", "-").split("-")[0] in known]
    if len(named) != 2:
        raise InputError(
            f"cannot tell source and target among the columns {', '.join(header) or '(none)'}",
            path=path,
            line=1,
            expected="a header with source and target, or with two languages such as en and de, the source first",
        )
    return named[0], named[1], document


CSV = Format("csv", ("FILE",), read_csv, None, "a table with columns source and target, or en and de", (".csv",))
