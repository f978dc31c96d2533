"""The old SGML of WMT (`.sgm`) and its cousin, the IWSLT TED test XML.

These files are not well-formed XML (bare `&`, no closing declaration), so they are read by a small tolerant
scanner: `<doc docid=…>`, `<seg id=…>text</seg>`, everything else is skipped. One file per side, the same
documents in the same order in each; further files are further references.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from fenster.corpus.base import pair
from fenster.corpus.files import TextFiles
from fenster.corpus.text import normalise
from fenster.document import ParallelDocument, Segment
from fenster.errors import InputError

_TAG = re.compile(r"<(/?)(doc|seg)\b([^>]*)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w:]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""")


@dataclass
class _Side:
    """One `<doc>` of one file."""

    id: str
    line: int
    segments: list[Segment] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def attributes(text: str) -> dict[str, str]:
    """`docid="a" genre=news` -> a dictionary with lower-case names."""
    return {name.lower(): html.unescape(value.strip("\"'")) for name, value in _ATTRIBUTE.findall(text)}


def read_sgml(paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    """`source reference...`: documents paired in order, their names checked."""
    for sides in zip_longest(*(_documents(path, files) for path in paths)):
        present = [side for side in sides if side is not None]
        for path, side in zip(paths, sides, strict=True):
            if side is None:
                raise InputError(
                    f"ends before document {present[0].id!r}",
                    path=path,
                    expected="the same documents in the same order in every file",
                    fix="check that the files belong to the same test set",
                )
            if side.id != sides[0].id:
                raise InputError(
                    f"document {side.id!r} where {paths[0]}:{sides[0].line} has {sides[0].id!r}",
                    path=path,
                    line=side.line,
                    expected="the same documents in the same order in every file",
                )
        source, target, *others = sides
        yield pair(
            source.id,
            source.segments,
            target.segments,
            references=[other.segments for other in others],
            path=paths[0],
            lines=source.lines,
            target_path=paths[1],
        )


def _documents(path: Path, files: TextFiles) -> Iterator[_Side]:
    document: _Side | None = None
    parts: list[str] | None = None  # the pieces of the open segment, None between segments
    segment_id = ""
    number = 0
    for number, line in files.lines(path):
        end = 0
        for tag in _TAG.finditer(line):
            if parts is not None:
                parts.append(line[end : tag.start()])
            end = tag.end()
            closing, name = tag[1] == "/", tag[2].lower()
            if name == "doc" and not closing:
                if document is not None:
                    raise InputError(
                        f"<doc> inside document {document.id!r}",
                        path=path,
                        line=number,
                        expected="</doc> first",
                    )
                document = _Side(_document_id(tag[3], path, number), number)
            elif name == "doc" and document is not None:
                yield document
                document = None
            elif name == "seg" and not closing:
                if document is None or parts is not None:
                    where = "outside a <doc>" if document is None else "inside another <seg>"
                    raise InputError(f"<seg> {where}", path=path, line=number, expected="<doc><seg>…</seg></doc>")
                parts, segment_id = [], attributes(tag[3]).get("id", "")
                document.lines.append(number)
            elif name == "seg" and parts is not None and document is not None:
                document.segments.append(Segment(normalise(html.unescape("".join(parts))), segment_id))
                parts = None
        if parts is not None:
            parts.append(line[end:] + " ")
    if document is not None:
        raise InputError(
            f"ends inside document {document.id!r}, which began at line {document.line}",
            path=path,
            line=number,
            expected="</doc> at the end",
            fix="the file was probably cut short: copy it again",
        )


def _document_id(text: str, path: Path, number: int) -> str:
    found = attributes(text).get("docid", "")
    if not found:
        raise InputError("<doc> without docid", path=path, line=number, expected='<doc docid="…">')
    return found
