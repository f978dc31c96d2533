"""OPUS OpenSubtitles in its moses + ids form: two text files and an `.ids` file that names the films.

A line of the ids file is `de/1921/12806/3712161.xml.gz<TAB>en/…<TAB>1 2<TAB>1`. The document is named after
the first path, as ContraPro names it: year_imdb_subtitle, here `1921_12806_3712161`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fenster.data.corpora.format import Format
from fenster.data.corpora.plain import Row, consecutive, parallel_lines
from fenster.document import ParallelDocument
from fenster.errors import InputError
from fenster.io.files import TextFiles


def read_opus(paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    """`source target ids`."""
    return consecutive(_rows(paths, files), paths)


def _rows(paths: Sequence[Path], files: TextFiles) -> Iterator[Row]:
    last, name = "", ""
    for number, (left, right, ids) in parallel_lines(paths, files):
        both = "\t".join(ids.split("\t", 2)[:2])  # the same film in another subtitle file is another document
        if both != last:
            last, name = both, document_name(both.split("\t")[0], paths[2], number)
        yield Row(number, both, name, left, right)


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
    return "_".join([*parts[1:-1], parts[-1].removesuffix(".gz").removesuffix(".xml")])


OPUS = Format(
    "opus", ("SOURCE", "TARGET", "IDS"), read_opus, about="OPUS OpenSubtitles, moses + ids", suffixes=(".ids",)
)
