"""Contrastive test sets in ContraPro's JSON form: each item in context, with its wrong variants.

Context comes from the documents the items were taken from (`documents/<year>/<name>.<language>`, one segment per
line, found by document and segment id; before *and* after the item), or, where a set carries it itself, from
the keys `src context` and `ref context`. Context lines that do not exist (document start or end) are left
out, not invented.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from fenster.data.corpora.contrapro_folder import LANGUAGES
from fenster.data.corpora.format import Format, parallel_document
from fenster.data.text import normalise
from fenster.document import ParallelDocument, Segment
from fenster.errors import InputError
from fenster.io.files import TextFiles

DEFAULT_CONTEXT = 4
"""Segments of context on each side, if there are that many and nothing else is asked for."""


@dataclass(frozen=True)
class ContrastiveItem:
    """A segment in context whose true translation must score above the contrastive ones.

    `document` holds left context, the item itself at `index`, right context, both sides gold.
    """

    document: ParallelDocument
    index: int
    contrastive: tuple[str, ...]
    record: Mapping[str, Any]

    def variant(self, number: int) -> list[str]:
        """The target side with contrastive variant `number` in place of the true segment."""
        texts = self.document.target.texts
        texts[self.index] = self.contrastive[number]
        return texts

    @property
    def candidates(self) -> list[list[str]]:
        """The target side with the true segment, then with each contrastive variant."""
        return [self.document.target.texts, *(self.variant(number) for number in range(len(self.contrastive)))]


class Documents:
    """The folder of ContraPro's documents: segment lists of both sides, the latest few kept in memory."""

    def __init__(self, folder: Path, languages: tuple[str, str] = LANGUAGES) -> None:
        if not folder.is_dir():
            raise InputError(
                "no such folder",
                path=folder,
                expected="documents/<year>/<name>.en and .de",
                fix="write it from OPUS OpenSubtitles with `fenster import --to folder`",
            )
        self._folder, self._languages = folder, languages
        self._lines = lru_cache(maxsize=64)(self._load)

    def _load(self, path: Path) -> list[str]:
        return [normalise(text) for _, text in TextFiles().lines(path)]

    def around(self, name: str, segment: int, left: int, right: int) -> tuple[list[list[str]], list[list[str]]]:
        """(left context, right context) of segment `segment` (from 1), each as [source, target] lists."""
        stem = name.rsplit(".", 1)[0] if name.endswith(tuple(f".{code}" for code in self._languages)) else name
        sides = []
        for code in self._languages:
            path = self._folder / stem.split("_", 1)[0] / f"{stem}.{code}"
            lines = self._lines(path)
            if not 1 <= segment <= len(lines):
                raise InputError(
                    f"has {len(lines)} segments, but an item is segment {segment}",
                    path=path,
                    fix="check that the documents are from the release the test set was made of",
                )
            sides.append(lines)
        before = [lines[max(0, segment - 1 - left) : segment - 1] for lines in sides]
        after = [lines[segment : segment + right] for lines in sides]
        return before, after


def read_items(
    path: Path,
    files: TextFiles,
    *,
    documents: Documents | None = None,
    left: int = 1,
    right: int = 0,
) -> Iterator[ContrastiveItem]:
    """Stream the items of a contrastive set with up to `left` and `right` segments of context."""
    if right and documents is None:
        raise InputError(
            f"right context of {right} was asked for, but without the documents there is only left context",
            path=path,
            fix="give the documents folder, or a right context of 0",
        )
    for number, record in enumerate(_records(path, files), start=1):
        yield _item(record, path, number, documents, left, right)


def _item(
    record: dict[str, Any],
    path: Path,
    number: int,
    documents: Documents | None,
    left: int,
    right: int,
) -> ContrastiveItem:
    fields = _Fields(record, path, number)
    contrastive = fields.contrastive()
    segments = [fields.text("src segment"), fields.text("ref segment")]
    name = str(record.get("document id") or number)
    if documents is not None:
        if "document id" not in record or "segment id" not in record:
            raise InputError(
                f"item {number} has no 'document id' and 'segment id', by which its context is found",
                path=path,
                fix="leave the documents folder out to use the context inside the file",
            )
        before, after = documents.around(name, fields.number("segment id"), left, right)
    else:
        sides = [fields.texts(key) for key in ("src context", "ref context")]
        kept = min(left, len(sides[0]))
        if kept != min(left, len(sides[1])):
            raise InputError(
                f"item {number} has {len(sides[0])} segments of 'src context' and {len(sides[1])} of 'ref context'",
                path=path,
                expected="the same number on both sides",
            )
        before, after = [side[len(side) - kept :] for side in sides], [[], []]
    segment_id = str(record.get("segment id", ""))
    source, target = (
        [*map(Segment, before[i]), Segment(segments[i], segment_id), *map(Segment, after[i])] for i in (0, 1)
    )
    return ContrastiveItem(
        parallel_document(name, source, target, path=path, lines=()),
        len(before[0]),
        contrastive,
        record,
    )


@dataclass(frozen=True)
class _Fields:
    """The values of a record, each checked for its type."""

    record: Mapping[str, Any]
    path: Path
    item: int

    def fail(self, key: str, value: object, expected: str) -> InputError:
        what = f"item {self.item}: {key!r} is {str(value)[:60]!r}"
        return InputError(what, path=self.path, expected=expected, fix="see ContraPro's JSON")

    def text(self, key: str) -> str:
        value = self.record.get(key)
        if not isinstance(value, str):
            raise self.fail(key, value, "a string")
        return self._clean(key, value)

    def _clean(self, key: str, value: str) -> str:
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise self.fail(key, ascii(value), "whole characters, not half a surrogate pair")
        return normalise(value)

    def texts(self, key: str) -> list[str]:
        value = self.record.get(key)
        value = [] if value is None else [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise self.fail(key, value, "a list of strings")
        return [self._clean(key, text) for text in value]

    def number(self, key: str) -> int:
        value = self.record.get(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.fail(key, value, "a number")
        return value

    def contrastive(self) -> tuple[str, ...]:
        errors = self.record.get("errors")
        if not isinstance(errors, list) or not all(
            isinstance(error, dict) and isinstance(error.get("contrastive"), str) for error in errors
        ):
            raise self.fail("errors", errors, 'a list of objects with a string "contrastive"')
        return tuple(self._clean("errors", error["contrastive"]) for error in errors)


def read_contrapro(paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    """`json [documents]`: each item as a small document, up to 4 segments of context each side."""
    documents = Documents(paths[1]) if len(paths) == 2 else None
    right = DEFAULT_CONTEXT if documents else 0
    for item in read_items(paths[0], files, documents=documents, left=DEFAULT_CONTEXT, right=right):
        yield item.document


def _records(path: Path, files: TextFiles) -> list[dict[str, Any]]:
    """The objects of a JSON list. Not streamed: such sets are small, and fast streaming parsers replace half a
    surrogate pair by another character instead of refusing it."""
    expected = "[{…}, {…}, …]"
    text = "\n".join(line for _, line in files.lines(path))
    try:
        records = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", path=path, line=error.lineno, expected=expected) from None
    except RecursionError:
        raise InputError("nested too deeply", path=path, expected=expected) from None
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise InputError("not a list of objects", path=path, expected=expected)
    return records


CONTRAPRO = Format(
    "contrapro", ("JSON", "[DOCUMENTS]"), read_contrapro, about="ContraPro items in context", suffixes=(".json",)
)
