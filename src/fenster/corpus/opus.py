"""OPUS OpenSubtitles in its moses + ids form: two text files and an `.ids` file that names the films.

A line of the ids file is `de/1921/12806/3712161.xml.gz<TAB>en/…<TAB>1 2<TAB>1`. The document is named after
the first path, as ContraPro names it: year_imdb_subtitle, here `1921_12806_3712161`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fenster.corpus.files import TextFiles
from fenster.corpus.plain import consecutive, parallel_lines
from fenster.document import ParallelDocument
from fenster.errors import InputError


def read_opus(paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    """`source target ids`."""
    return consecutive(_rows(paths, files), paths[0], names=paths[2])


def _rows(paths: Sequence[Path], files: TextFiles) -> Iterator[tuple[int, str, str, str]]:
    last, name = "", ""
    for number, (left, right, ids) in parallel_lines(paths, files):
        first = ids.split("\t", 1)[0]
        if first != last:
            last, name = first, document_name(first, paths[2], number)
        yield number, name, left, right


def document_name(path: str, ids: Path, line: int) -> str:
    """`de/1921/12806/3712161.xml.gz` -> `1921_12806_3712161`."""
    parts = path.split("/")
    if len(parts) < 2 or not parts[-1]:
        raise InputError(
            f"no document path in {path[:60]!r}",
            path=ids,
            line=line,
            expected="language/year/imdb/subtitle.xml.gz, then a tab",
        )
    return "_".join([*parts[1:-1], parts[-1].split(".")[0]])
