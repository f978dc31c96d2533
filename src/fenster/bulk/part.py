"""A part of a shard: the unit of work. Its translations are kept in a file of their own until the shard is assembled.

A part that is the whole shard is assembled by the worker that translated it, so that a driver of many shards need not
read any of them. Files are written as a whole and depend on their input alone: writing one twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fenster.bulk.documents import RowDocument
from fenster.bulk.manifest import Entry
from fenster.bulk.shard import (
    Figures,
    Shard,
    assembled,
    dead_line,
    figures_of,
    read_lines,
    translated_line,
    write_lines,
)
from fenster.bulk.shards import FaultyRow, Row
from fenster.bulk.shards.base import ALL, ID, Extent
from fenster.bulk.task import why
from fenster.decode.translator import Translator
from fenster.errors import FensterError
from fenster.io import storage


@dataclass(frozen=True)
class PartOutcome:
    figures: Figures
    entry: Entry | None = None
    """Of the shard, if the part is all of it."""


@dataclass(frozen=True)
class Part:
    """A task."""

    shard: Shard
    extent: Extent
    is_whole: bool
    """All of its shard."""

    @property
    def name(self) -> str:
        first, count = self.extent.first, self.extent.count
        which = f"document {first}" if count == 1 else f"documents {first} to {first + count - 1}"
        return self.shard.source if self.is_whole else f"{self.shard.source} ({which})"

    @property
    def size(self) -> int:
        return self.extent.size

    @property
    def file(self) -> str:
        last = "end" if self.extent.count == ALL else self.extent.first + self.extent.count
        return storage.joined(self.shard.parts, f"{self.extent.first:012}-{last}.jsonl")

    def halves(self) -> list[Part]:
        """What is left to try if workers died over it; nothing for a single document."""
        first, count, size = self.extent.first, self.extent.count, self.extent.size
        if count == ALL:
            count = sum(extent.count for extent in self.shard.reader.extents(self.shard.source, size or 1))
        if count < 2:
            return []
        half = count // 2
        extents = Extent(first, half, size // 2), Extent(first + half, count - half, size - size // 2)
        return [replace(self, extent=extent, is_whole=False) for extent in extents]

    def run(self, translator: Translator) -> PartOutcome | str:
        try:
            if not storage.exists(self.file):
                with storage.written(self.file) as stream:
                    write_lines(stream, self._translated(translator))
        except Exception as error:
            return why(error, self.name)
        return self.taken()

    def taken(self) -> PartOutcome | str:
        """What an existing file holds; a part that is the whole shard also becomes the shard's translation."""
        try:
            figures = figures_of(read_lines(self.file))
            return PartOutcome(figures, assembled(self.shard, [self.file]) if self.is_whole else None)
        except Exception as error:
            return why(error, self.name)

    def give_up(self, reason: str) -> None:
        """Write a part whose documents are all dead letters."""
        rows = self.shard.reader.rows(self.shard.source, self.extent.first, self.extent.count)
        with storage.written(self.file) as stream:
            write_lines(stream, (_given_up(row, reason) for row in rows))

    def _translated(self, translator: Translator) -> Iterator[Mapping[str, Any]]:
        """A line for each row, in order."""
        lines: dict[int, Mapping[str, Any]] = {}
        documents: dict[int, RowDocument] = {}
        for row in self.shard.reader.rows(self.shard.source, self.extent.first, self.extent.count):
            if isinstance(row, FaultyRow):
                lines[row.number] = dead_line(row.number, None, row.reason, row.raw)
                continue
            try:
                documents[row.number] = RowDocument.of(row.record, self.shard.column, self.shard.options)
            except FensterError as error:
                lines[row.number] = dead_line(row.number, row.record.get(ID), str(error), row.record)
        longest_first = sorted(documents, key=lambda number: -len(documents[number].document))
        translations = translator.translate_all(documents[number].document for number in longest_first)
        for number, translation in zip(longest_first, translations, strict=True):
            added = documents[number].added(translation.segments)
            lines[number] = translated_line(number, len(translation.segments), added)
        return (lines[number] for number in sorted(lines))


def _given_up(row: Row | FaultyRow, reason: str) -> dict[str, Any]:
    if isinstance(row, FaultyRow):
        return dead_line(row.number, None, row.reason, row.raw)
    return dead_line(row.number, row.record.get(ID), reason, row.record)
