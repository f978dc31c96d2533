"""Translated units of XLIFF 1.2 and 2.0; each `<file>` is a document. Units without a translation are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fenster.data.corpora.format import Format
from fenster.data.corpora.plain import Row, grouped
from fenster.document import ParallelDocument
from fenster.io.files import TextFiles
from fenster.io.xml import stream_xml, text_without

_CODES = frozenset({"bpt", "ept", "ph", "it", "x", "bx", "ex", "sc", "ec", "cp"})


def read_xliff(paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    (path,) = paths
    return grouped(_rows(path, files), path)


def _rows(path: Path, files: TextFiles) -> Iterator[Row]:
    for line, element in stream_xml(path, files, ("trans-unit", "segment")):
        source, target = (text_without(element.find(f"{{*}}{name}"), _CODES) for name in ("source", "target"))
        around = next(element.iterancestors("{*}file"), None)
        name = None if around is None else around.get("original") or around.get("id")
        document = name or path.name.split(".")[0]
        if source.strip() and target.strip():
            yield Row(line, document, document, source, target)


XLIFF = Format("xliff", ("FILE",), read_xliff, None, "translated units of XLIFF 1.2 and 2.0", (".xlf", ".xliff"))
