"""IWSLT's training talks, `train.tags.en-de.en` and its other side: raw lines between header tags.

A talk begins with `<doc docid=…>` (2016 on) or with `<url>` (before); its name is the docid or the talk id.
A line that begins with one of the known header tags is markup, to the tag's end in this or a later line; every
other line is a segment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from fenster.data.corpora.format import Format, parallel_document
from fenster.data.corpora.plain import parallel_lines
from fenster.data.corpora.sgml import attributes
from fenster.data.text import normalise
from fenster.document import ParallelDocument, Segment
from fenster.errors import InputError
from fenster.io.files import TextFiles

_HEADER = re.compile(
    r"\s*<(/?)(doc|url|keywords|speaker|talkid|title|description|reviewer|translator)\b([^>]*)>(.*)", re.I
)


def read_ted_tags(paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    """`source target`, the two sides line by line; headers must stand at the same lines."""
    source: list[Segment] = []
    target: list[Segment] = []
    lines: list[int] = []
    name, within, began = "", "", 0  # `within` is the header tag that is still open, from line `began`
    for number, (left, right) in parallel_lines(paths, files):
        if within:
            within = "" if f"</{within}>" in left.lower() else within
            continue
        header, other = _HEADER.match(left), _HEADER.match(right)
        if bool(header) != bool(other) or (header and other and header[2].lower() != other[2].lower()):
            raise InputError(
                f"a header line on one side only: {(left if header else right).strip()[:60]!r}",
                path=paths[1] if header else paths[0],
                line=number,
                expected="the same tags at the same lines of both files",
                fix="the files may belong to different releases or language pairs",
            )
        if header is None:
            if not source and not left.strip() and not right.strip():
                continue  # layout between talks
            source.append(Segment(normalise(left)))
            target.append(Segment(normalise(right)))
            lines.append(number)
            continue
        tag = header[2].lower()
        if tag != "doc" and not header[1] and f"</{tag}>" not in left.lower():
            within, began = tag, number
        if source and tag in ("doc", "url"):
            yield parallel_document(
                name or f"line{lines[0]}", source, target, path=paths[0], lines=lines, target_path=paths[1]
            )
            source, target, lines, name = [], [], [], ""
        if tag == "doc" and not header[1]:
            name = attributes(header[3]).get("docid", "")
        elif tag == "talkid" and not name:
            name = header[4].split("<")[0].strip()
    if within:
        raise InputError(f"<{within}> is never closed", path=paths[0], line=began, expected=f"</{within}>")
    if source:
        yield parallel_document(
            name or f"line{lines[0]}", source, target, path=paths[0], lines=lines, target_path=paths[1]
        )


TED_TAGS = Format(
    "ted-tags",
    ("SOURCE", "TARGET"),
    read_ted_tags,
    about="IWSLT train.tags.*",
    recognise=lambda form, paths: all(path.name.startswith("train.tags.") for path in paths),
)
