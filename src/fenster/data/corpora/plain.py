"""Line-aligned text: two parallel files, documents separated by blank lines or named by a third file.

With two files a blank line (on both sides at once) ends a document, so a segment cannot be empty. With a
third file of document names, one per line, blank lines are empty segments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby, zip_longest
from pathlib import Path
from typing import NamedTuple, NoReturn

from fenster.data.corpora.format import Format, parallel_document
from fenster.data.text import normalise
from fenster.document import ParallelDocument, Segment
from fenster.errors import InputError
from fenster.io.files import TextFiles, atomic_text


def parallel_lines(paths: Sequence[Path], files: TextFiles) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Lines of several files side by side; files of different length are an error that says where."""
    streams = [files.lines(path) for path in paths]
    for rows in zip_longest(*streams):
        if any(row is None for row in rows):
            _unequal(paths)
        yield rows[0][0], tuple(row[1] for row in rows)


def _unequal(paths: Sequence[Path]) -> NoReturn:
    counts = [sum(1 for _ in TextFiles().lines(path)) for path in paths]
    short = min(range(len(paths)), key=counts.__getitem__)
    raise InputError(
        "line counts differ: " + ", ".join(f"{path} has {n}" for path, n in zip(paths, counts, strict=True)),
        path=paths[short],
        line=counts[short],
        expected="files with the same number of lines, in which line i of one corresponds to line i of the others",
        fix="find the first pair that does not match; a file may have been cut short",
    )


def read_plain(paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    """`source target [documents]`: see the module's text."""
    return _read_named(paths, files) if len(paths) == 3 else _read_blank(paths, files)


def _read_blank(paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    source: list[Segment] = []
    target: list[Segment] = []
    count, first = 0, 1
    for number, (left, right) in parallel_lines(paths, files):
        left, right = normalise(left), normalise(right)
        if left and right:
            source.append(Segment(left))
            target.append(Segment(right))
            continue
        if left or right:
            blank, text = (paths[1], paths[0]) if left else (paths[0], paths[1])
            raise InputError(
                f"blank line where {text} has text",
                path=blank,
                line=number,
                expected="blank lines, which end documents, at the same places in both files",
                fix="if it is an untranslated segment, give document names in a third file, or use tsv or jsonl",
            )
        if source:
            count += 1
            lines = range(first, number)
            yield parallel_document(str(count), source, target, path=paths[0], lines=lines, target_path=paths[1])
            source, target = [], []
        first = number + 1
    if source:
        lines = range(first, first + len(source))
        yield parallel_document(str(count + 1), source, target, path=paths[0], lines=lines, target_path=paths[1])


def _read_named(paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    """Consecutive lines with the same name form a document."""
    rows = (Row(number, name, name, left, right) for number, (left, right, name) in parallel_lines(paths, files))
    return consecutive(rows, paths)


class Row(NamedTuple):
    """A pair and the document it belongs to: rows of the same `key` in a row are one document."""

    line: int
    key: str
    name: str
    source: str
    target: str


def consecutive(rows: Iterable[Row], paths: Sequence[Path]) -> Iterator[ParallelDocument]:
    """Rows to documents: a new one begins where the key changes, or where a line is left out.

    `paths` are the one file that everything is in, or the files of source, target and names.
    """
    name, key, first = "", "", 1
    source: list[Segment] = []
    target: list[Segment] = []

    def document() -> ParallelDocument:
        other = paths[1] if len(paths) > 1 else None
        lines = range(first, first + len(source))
        return parallel_document(name, source, target, path=paths[0], lines=lines, target_path=other)

    for row in rows:
        if not row.name.strip():
            raise InputError("no document name", path=paths[-1], line=row.line, expected="a name")
        if row.key != key or first + len(source) != row.line:
            if source:
                yield document()
                source, target = [], []
            name, key, first = row.name, row.key, row.line
        source.append(Segment(normalise(row.source)))
        target.append(Segment(normalise(row.target)))
    if source:
        yield document()


def grouped(rows: Iterable[Row], path: Path) -> Iterator[ParallelDocument]:
    """Rows of a file in which pairs are not lines to documents: a new one begins where the key changes."""
    for _, group in groupby(rows, key=lambda row: row.key):
        listed = list(group)
        sides = (
            [Segment(normalise(text)) for text in texts] for texts in zip(*(row[3:] for row in listed), strict=True)
        )
        yield parallel_document(listed[0].name, *sides, path=path, lines=[row.line for row in listed])


def write_plain(documents: Iterable[ParallelDocument], paths: Sequence[Path]) -> int:
    """Write two files (blank lines between documents) or three (names in the third)."""
    count, last = 0, ""
    with ExitStack() as stack:
        source, target, *names = (stack.enter_context(atomic_text(path)) for path in paths)
        for document in documents:
            if names and document.id == last:
                raise InputError(
                    f"two documents in a row are called {last!r}, so a file of names cannot separate them",
                    path=document.path or None,
                    fix="write tsv or jsonl",
                )
            last = document.id
            if count and not names:
                source.write("\n")
                target.write("\n")
            for left, right in zip(document.source.texts, document.target.texts, strict=True):
                if not names and not (left and right):
                    raise InputError(
                        f"document {document.id!r} has an empty segment, which a blank line cannot express",
                        path=document.path or None,
                        fix="give a third file for the document names, or write tsv or jsonl",
                    )
                source.write(left + "\n")
                target.write(right + "\n")
                if names:
                    names[0].write(document.id + "\n")
            count += 1
    return count


PLAIN = Format(
    "plain",
    ("SOURCE", "TARGET", "[DOCUMENTS]"),
    read_plain,
    write_plain,
    "two parallel files, blank lines between documents; or a third file of document names",
    recognise=lambda form, paths: len(paths) in (2, 3),
)
