"""A part of a shard: the unit of work. Its translations are kept in a file of their own until the shard is assembled.

A part that is the whole shard is assembled by whoever translated it, so that a driver of many shards reads none of
them. Everything is written whole and depends on its input alone: doing it twice changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any, cast

from fenster.bulk.documents import RowDocument
from fenster.bulk.manifest import WORK, Entry
from fenster.bulk.shards import SHARD_FORMATS, FaultyRow, Row, ShardFormat
from fenster.bulk.shards.base import ALL, ID, WARNINGS, Extent
from fenster.decode.files.base import FileOptions
from fenster.decode.translator import Translator
from fenster.errors import FensterError
from fenster.io import storage

_ROW, _REASON, _RAW = "row", "reason", "document"


@dataclass(frozen=True)
class Shard:
    """A file of documents, and where its translation goes."""

    source: str
    output: str
    """The folder of all translations."""
    name: str
    """Of its translation in that folder."""
    format: str
    stamp: str
    """A hash of everything that its translation depends on."""
    column: str
    options: FileOptions

    @property
    def target(self) -> str:
        return storage.joined(self.output, self.name)

    @property
    def dead_letters(self) -> str:
        """Documents that could not be translated, and why; only there if there are any."""
        return storage.joined(self.output, "dead-letters", f"{self.name}.jsonl")

    @property
    def parts(self) -> str:
        """The folder of its parts."""
        return storage.joined(self.output, WORK, "parts", self.stamp)

    @property
    def reader(self) -> ShardFormat:
        return SHARD_FORMATS[self.format](self.column)


@dataclass
class Figures:
    """What is in some translated rows."""

    documents: int = 0
    segments: int = 0
    dead: int = 0
    """Documents that could not be translated."""
    warnings: Counter[str] = field(default_factory=Counter)
    """By problem, the documents that have it."""

    def add(self, other: Figures) -> None:
        self.documents += other.documents
        self.segments += other.segments
        self.dead += other.dead
        self.warnings.update(other.warnings)


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
        return self._outcome(lambda: None if storage.exists(self.file) else self._translate(translator))

    def taken(self) -> PartOutcome | str:
        """The outcome of a part whose file exists."""
        return self._outcome(lambda: None)

    def _outcome(self, prepare: Callable[[], None]) -> PartOutcome | str:
        try:
            prepare()
            return self._finished()
        except FensterError as error:
            return str(error)
        except Exception as error:  # whatever it is, the other shards go on, and this one is reported as failed
            return f"{self.name}: {type(error).__name__}: {error}"

    def give_up(self, reason: str) -> None:
        """Write a part whose documents are all dead letters."""
        rows = self.shard.reader.rows(self.shard.source, self.extent.first, self.extent.count)
        with storage.written(self.file) as stream:
            _write(stream, (_given_up(row, reason) for row in rows))

    def _finished(self) -> PartOutcome:
        """What an existing file holds; a part that is the whole shard also becomes the shard's translation."""
        figures = figures_of(_lines(self.file))
        return PartOutcome(figures, assembled(self.shard, [self]) if self.is_whole else None)

    def _translate(self, translator: Translator) -> None:
        with storage.written(self.file) as stream:
            _write(stream, self._translated(translator))

    def _translated(self, translator: Translator) -> Iterator[Mapping[str, Any]]:
        """A line for each row, in order."""
        lines: dict[int, Mapping[str, Any]] = {}
        documents: dict[int, RowDocument] = {}
        for row in self.shard.reader.rows(self.shard.source, self.extent.first, self.extent.count):
            if isinstance(row, FaultyRow):
                lines[row.number] = _dead(row.number, None, row.reason, row.raw)
                continue
            try:
                documents[row.number] = RowDocument.of(row.record, self.shard.column, self.shard.options)
            except FensterError as error:
                lines[row.number] = _dead(row.number, row.record.get(ID), str(error), row.record)
        longest_first = sorted(documents, key=lambda number: -len(documents[number].document))
        translations = translator.translate_all(documents[number].document for number in longest_first)
        for number, translation in zip(longest_first, translations, strict=True):
            added = documents[number].added(translation.segments)
            lines[number] = {_ROW: number, "segments": len(translation.segments), "added": added}
        return (lines[number] for number in sorted(lines))


def assembled(shard: Shard, parts: Sequence[Part]) -> Entry:
    """Write the shard's translation from those of its parts, which are in order."""
    figures, dead = Figures(), []

    def additions() -> Iterator[Mapping[str, Any] | None]:
        for part in parts:
            for line in _lines(part.file):
                figures.add(figures_of([line]))
                if _REASON in line:
                    dead.append(line)
                yield line.get("added")

    work = storage.joined(shard.output, WORK, "temporary")
    with storage.written(shard.target, work) as stream:
        hashed = _Hashed(stream)
        shard.reader.write(shard.source, cast(IO[bytes], hashed), additions())
    if dead:
        with storage.written(shard.dead_letters, work) as stream:
            _write(stream, dead)
    else:
        storage.removed(shard.dead_letters)
    return Entry(shard.stamp, hashed.hash.hexdigest(), figures.documents, figures.dead, shard.source)


class _Hashed:
    """A stream that hashes what is written to it: the content, before it is compressed."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self.hash, self.closed = stream, hashlib.sha256(), False

    def write(self, data: bytes) -> int:
        self.hash.update(data)
        return self._stream.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def figures_of(lines: Iterator[Mapping[str, Any]] | Sequence[Mapping[str, Any]]) -> Figures:
    figures = Figures()
    for line in lines:
        if _REASON in line:
            figures.dead += 1
        else:
            figures.documents += 1
            figures.segments += line["segments"]
            figures.warnings.update(line["added"][WARNINGS])
    return figures


def _given_up(row: Row | FaultyRow, reason: str) -> dict[str, Any]:
    if isinstance(row, FaultyRow):
        return _dead(row.number, None, row.reason, row.raw)
    return _dead(row.number, row.record.get(ID), reason, row.record)


def _dead(number: int, id: Any, reason: str, document: Any) -> dict[str, Any]:
    return {_ROW: number, ID: id, _REASON: reason, _RAW: document}


def _write(stream: IO[bytes], lines: Iterator[Mapping[str, Any]] | Sequence[Mapping[str, Any]]) -> None:
    for line in lines:
        stream.write(json.dumps(line, default=str).encode() + b"\n")


def _lines(file: str) -> Iterator[dict[str, Any]]:
    with storage.reading(file) as stream:
        for line in stream:
            yield json.loads(line)
