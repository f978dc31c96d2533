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

from fenster.data.corpora.format import Format, parallel_document
from fenster.data.text import normalise
from fenster.document import ParallelDocument, Segment
from fenster.errors import InputError
from fenster.io.files import TextFiles, bare_suffix

_INSIDE = r"""(?:"[^"]*"|'[^']*'|[^>"'])*"""
_TAG = re.compile(rf"<(/?)(doc|seg)\b({_INSIDE})>", re.IGNORECASE)
_OPEN_TAG = re.compile(rf"<(?:/?)(?:doc|seg)\b{_INSIDE}$", re.IGNORECASE)  # continues in the next line
_ENTITY = re.compile(r"&(?:#\d+|#x[0-9a-fA-F]+|\w+);")
_ATTRIBUTE = re.compile(r"""([\w:]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""")


@dataclass
class _Side:
    """One `<doc>` of one file."""

    id: str
    line: int
    segments: list[Segment] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def unescape(text: str) -> str:
    """Entities to characters. Only with their `;`: these files are full of bare `&`."""
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)


def attributes(text: str) -> dict[str, str]:
    """`docid="a" genre=news` -> a dictionary with lower-case names."""
    return {name.lower(): unescape(value.strip("\"'")) for name, value in _ATTRIBUTE.findall(text)}


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
        for path, side in zip(paths[1:], sides[1:], strict=True):
            _check_ids(source, side, path)
        yield parallel_document(
            source.id,
            source.segments,
            target.segments,
            references=[other.segments for other in others],
            path=paths[0],
            lines=source.lines or [source.line],
            target_path=paths[1],
            target_lines=target.lines or [target.line],
        )


def _check_ids(source: _Side, other: _Side, path: Path) -> None:
    """Segments are paired by place; where both sides number them, the numbers must agree."""
    for left, right, line in zip(source.segments, other.segments, other.lines, strict=False):
        if left.id and right.id and left.id != right.id:
            raise InputError(
                f"document {source.id!r}: segment id {right.id!r} where the source has {left.id!r}",
                path=path,
                line=line,
                expected="the same segments in the same order on every side",
            )


def _lines(path: Path, files: TextFiles) -> Iterator[tuple[int, str]]:
    """Lines without comments; a tag that is broken over lines comes whole, under its first line's number."""
    comment, rest, begin = False, "", 0
    for number, line in files.lines(path):
        kept = ""
        while line:
            mark = "-->" if comment else "<!--"
            before, separator, line = line.partition(mark)
            kept += "" if comment else before
            comment ^= bool(separator)
        if rest:
            kept, number = f"{rest} {kept}", begin
        rest = ""
        if _OPEN_TAG.search(kept):
            rest, begin = kept, number
            continue
        yield number, kept
    if rest:
        yield begin, rest


def _documents(path: Path, files: TextFiles) -> Iterator[_Side]:
    def fail(what: str, expected: str, fix: str | None = None) -> InputError:
        return InputError(what, path=path, line=number, expected=expected, fix=fix)

    document: _Side | None = None
    parts: list[str] | None = None  # the pieces of the open segment, None between segments
    segment_id, number = "", 0
    for number, line in _lines(path, files):
        end = 0
        for tag in _TAG.finditer(line):
            closing, name = tag[1] == "/", tag[2].lower()
            if name == "doc" and not closing and document is not None and "docid" not in attributes(tag[3]):
                continue  # a word of some description, not a document
            if parts is not None:
                parts.append(line[end : tag.start()])
            end = tag.end()
            if name == "doc" and not closing:
                if document is not None:
                    raise fail(f"<doc> inside document {document.id!r}", "</doc> first")
                document = _Side(_document_id(tag[3], path, number), number)
            elif name == "doc":
                if document is None or parts is not None:
                    what = "</doc> without <doc>" if document is None else f"segment {segment_id!r} is not closed"
                    raise fail(what, "<doc><seg>…</seg></doc>")
                yield document
                document = None
            elif not closing:
                if document is None or parts is not None:
                    where = "outside a <doc>" if document is None else "inside another <seg>"
                    raise fail(f"<seg> {where}", "<doc><seg>…</seg></doc>")
                segment_id = attributes(tag[3]).get("id", "")
                if segment_id and any(segment.id == segment_id for segment in document.segments):
                    raise fail(f"segment id {segment_id!r} twice in document {document.id!r}", "every id once")
                document.lines.append(number)
                parts = []
                if tag[3].endswith("/"):  # <seg id="2"/> is an empty segment
                    document.segments.append(Segment("", segment_id))
                    parts = None
            else:
                if document is None or parts is None:
                    raise fail("</seg> without <seg>", "<seg>…</seg>")
                document.segments.append(Segment(normalise(unescape("".join(parts))), segment_id))
                parts = None
        if parts is not None:
            parts.append(line[end:] + " ")
    if document is not None:
        raise fail(
            f"ends inside document {document.id!r}, which began at line {document.line}",
            "</doc> at the end",
            "the file was probably cut short: copy it again",
        )


def _document_id(text: str, path: Path, number: int) -> str:
    name = attributes(text).get("docid", "")
    if not name:
        raise InputError("<doc> without docid", path=path, line=number, expected='<doc docid="…">')
    return name


def _recognise(form: Format, paths: Sequence[Path]) -> bool:
    """Several XML files are IWSLT's; a single one is WMT's new form."""
    suffixes = {bare_suffix(paths[-1]), bare_suffix(paths[0])}
    return bool(suffixes & {".sgm", ".sgml"}) or (bare_suffix(paths[0]) == ".xml" and len(paths) > 1)


SGML = Format(
    "sgml",
    ("SOURCE", "REFERENCE", "[REFERENCE...]"),
    read_sgml,
    about="old WMT and IWSLT TED tests",
    suffixes=(".sgm", ".sgml"),
    recognise=_recognise,
)
