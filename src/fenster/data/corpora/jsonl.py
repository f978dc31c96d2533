"""JSONL, one document per line: the house format.

It keeps everything: empty segments, tabs, segment ids and several references. Its keys are `id`,
`source`, `target` and, where there are any, `references` (a list of lists) and `segments` (segment ids).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from fenster.data.corpora.format import Format, parallel_document
from fenster.data.text import normalise
from fenster.document import ParallelDocument, Segment
from fenster.errors import InputError
from fenster.io.files import TextFiles, atomic_text

_KEYS = {"id", "source", "target", "references", "segments"}


def read_jsonl(paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    """One JSON object per line; see the module's text for its keys. Blank lines are allowed."""
    (path,) = paths
    for number, line in files.lines(path):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=_once)
            json.dumps(row, ensure_ascii=False).encode("utf-8")  # half a surrogate pair is not text
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"not JSON: {error}", path=path, line=number, expected="one JSON object per line, in UTF-8"
            ) from None
        source, target, references, ids = _jsonl_fields(row, path, number)
        yield parallel_document(
            row["id"],
            _segments(source, ids),
            _segments(target, ids),
            references=[_segments(side, ids) for side in references],
            path=path,
            lines=[number] * max(1, len(source)),
        )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys occur once."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError(f"a key occurs twice among {', '.join(key for key, _ in pairs)}")
    return record


def _jsonl_fields(row: Any, path: Path, number: int) -> tuple[list[str], list[str], list[list[str]], list[str]]:
    def fail(what: str) -> InputError:
        return InputError(
            what,
            path=path,
            line=number,
            expected='{"id": "name", "source": ["…", …], "target": ["…", …]}'
            " with optional references (list of lists) and segments (ids)",
        )

    if not isinstance(row, dict):
        raise fail(f"a JSON {type(row).__name__}, not an object")
    for key in ("id", "source", "target"):
        if key not in row:
            raise fail(f"key {key!r} is missing")
    unknown = sorted(set(row) - _KEYS)
    if unknown:
        raise fail(f"unknown {'key' if len(unknown) == 1 else 'keys'} {', '.join(map(repr, unknown))}")
    references, ids = row.get("references", []), row.get("segments", [])
    sides = [row["source"], row["target"], ids, *(references if isinstance(references, list) else [None])]
    for side in sides:
        if not isinstance(side, list) or not all(isinstance(text, str) for text in side):
            raise fail("source, target, segments and each reference must be lists of strings")
    if not isinstance(row["id"], str):
        raise fail(f"id is {row['id']!r}, not a string")
    if ids and len(ids) != len(row["source"]):
        raise fail(f"{len(ids)} segment ids for {len(row['source'])} segments")
    return row["source"], row["target"], references, ids


def _segments(texts: list[str], ids: list[str]) -> list[Segment]:
    named = zip(texts, chain(ids, repeat("")), strict=False)
    return [Segment(normalise(text), id) for text, id in named]


def write_jsonl(documents: Iterable[ParallelDocument], paths: Sequence[Path]) -> int:
    """Write the house format, which loses nothing."""
    count = 0
    with atomic_text(paths[0]) as out:
        for document in documents:
            row: dict[str, Any] = {
                "id": document.id,
                "source": document.source.texts,
                "target": document.target.texts,
            }
            if document.references:
                row["references"] = [side.texts for side in document.references]
            ids = [segment.id for segment in document.source.segments]
            if any(ids):
                row["segments"] = ids
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


JSONL = Format(
    "jsonl",
    ("FILE",),
    read_jsonl,
    write_jsonl,
    "one document per line; the house format",
    (".jsonl",),
    keeps_references=True,
)
