"""Tables in CSV: cells of chosen columns are translated in one context; all else stays as it is, byte for byte.

If a column is named after the target language its empty cells get the translations; otherwise the source's cells do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fenster.decode.files.base import DocumentFormat, FileOptions
from fenster.decode.files.ranges import RangesDocument, TextRange, whole_text
from fenster.errors import ConfigError, InputError
from fenster.io.files import FileSource
from fenster.language import languages, load_language


@dataclass(frozen=True)
class Cell:
    """`text[start:end]`, its quotes included."""

    start: int
    end: int
    value: str
    line: int


class CsvFormat(DocumentFormat):
    suffixes = (".csv",)
    about = "tables: the cells of the columns that --columns names"
    writes_file = True

    def parse(self, source: FileSource, options: FileOptions) -> RangesDocument:
        text = whole_text(source)
        delimiter = _delimiter(text)
        rows = _rows(text, delimiter, source)
        header = [cell.value.strip() for cell in rows[0]] if rows else []
        columns = _chosen(header, options, source.path)
        into = next((number for number, name in enumerate(header) if _means(name, options.target)), None)
        if len(columns) != 1 or into in columns:
            into = None
        ranges = []
        for row in rows[1:]:
            for column in columns:
                target = column if into is None else into
                if column >= len(row) or (into is not None and target < len(row) and row[target].value.strip()):
                    continue
                cell = row[column]
                missing = max(0, target + 1 - len(row))  # cells at the end of a short row
                end = row[-1].end
                destination = Cell(end, end, "", cell.line) if missing else row[target]

                def written(new: str, raw: str = text[cell.start : cell.end], missing: int = missing) -> str:
                    quoted = raw.startswith('"') or re.search(rf'[{re.escape(delimiter)}"\n]', new) is not None
                    spelt = '"' + new.replace('"', '""') + '"' if quoted else new
                    return delimiter * missing + spelt

                position = (destination.start, destination.end)
                elsewhere = target != column
                ranges.append(TextRange.of(*position, cell.value, cell.line, options.language, written, elsewhere))
        return RangesDocument(text, tuple(one for one in ranges if one is not None), source.bom)


def _means(name: str, language: str) -> bool:
    """True if a column is named after a language: de, de-DE, German."""
    names = {language} | ({load_language(language).name.lower()} if language in languages() else set())
    return re.split(r"[-_]", name.lower())[0] in names


def _chosen(header: Sequence[str], options: FileOptions, path: Path) -> list[int]:
    missing = [name for name in options.columns if name not in header]
    if missing:
        raise ConfigError(
            f"no column {missing[0]!r} in the table", path=path, expected=f"some of {', '.join(header)}"
        )
    if options.columns:
        return [header.index(name) for name in options.columns]
    usual = [
        n for n, name in enumerate(header) if _means(name, options.language) or name.lower() in ("source", "text")
    ]
    if not usual and header:
        raise ConfigError(
            "cannot tell which columns to translate",
            path=path,
            expected=f"--columns with some of {', '.join(header)}",
            fix="name those that hold text",
        )
    return usual[:1]


def _delimiter(text: str) -> str:
    first = re.sub(r'"[^"]*"', "", text.split("\n", 1)[0])
    return max(",;\t", key=lambda sign: first.count(sign))


def _rows(text: str, delimiter: str, source: FileSource) -> list[list[Cell]]:
    """Cells in rows, as RFC 4180 has them."""
    rows: list[list[Cell]] = [[]]
    at, line = 0, 1
    cell = re.compile(rf'"((?:[^"]|"")*)"|([^{re.escape(delimiter)}"\r\n][^{re.escape(delimiter)}\r\n]*)?')
    between = re.compile(rf"{re.escape(delimiter)}|\r?\n|\r")
    while at < len(text):
        match = cell.match(text, at)
        assert match is not None  # it may be empty
        value = match[1].replace('""', '"') if match[1] is not None else match[2] or ""
        rows[-1].append(Cell(*match.span(), value, line))
        line += match.group().count("\n")
        at = match.end()
        follows = between.match(text, at)
        if follows is None and at < len(text):
            raise InputError(
                "a quoted cell is not closed, or is followed by other text",
                path=source.path,
                line=line,
                expected='cells such as "He said ""no"", and left"',
            )
        if follows is not None and follows.group() != delimiter:
            rows.append([])
            line += 1
        elif follows is not None and at + 1 == len(text):
            rows[-1].append(Cell(at + 1, at + 1, "", line))
        at += len(follows.group()) if follows is not None else 0
    return [row for row in rows if any(cell.value for cell in row)]
