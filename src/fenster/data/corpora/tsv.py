"""TSV: `document<TAB>source<TAB>target`, blank lines between documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fenster.data.corpora.format import Format
from fenster.data.corpora.plain import Row, consecutive
from fenster.document import ParallelDocument
from fenster.errors import InputError, counted
from fenster.io.files import TextFiles, atomic_text


def read_tsv(paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    """Three columns; a new document begins where the first changes and after a blank line."""
    (path,) = paths
    return consecutive(_tsv_rows(path, files), paths)


def _tsv_rows(path: Path, files: TextFiles) -> Iterator[Row]:
    for number, line in files.lines(path):
        if not line.strip(" "):
            continue
        columns = line.split("\t")
        if len(columns) != 3:
            raise InputError(
                counted(len(columns), "column"),
                path=path,
                line=number,
                expected="3 columns separated by tabs: document, source, target",
                fix="a tab inside a text must become a space; an empty side keeps its tab",
            )
        yield Row(number, columns[0], *columns)


def write_tsv(documents: Iterable[ParallelDocument], paths: Sequence[Path]) -> int:
    """Write TSV with a blank line between documents. Holds neither segment ids nor further references."""
    count = 0
    with atomic_text(paths[0]) as out:
        for document in documents:
            if count:
                out.write("\n")
            for left, right in zip(document.source.texts, document.target.texts, strict=True):
                out.write(f"{document.id}\t{left}\t{right}\n")
            count += 1
    return count


TSV = Format("tsv", ("FILE",), read_tsv, write_tsv, "document, source and target, separated by tabs", (".tsv",))
