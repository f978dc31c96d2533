"""A shard, and how its translation is assembled from the files of its parts: a line of JSON for each row."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, cast

from fenster.bulk.manifest import DEAD_LETTERS, WORK, Entry
from fenster.bulk.shards import SHARD_FORMATS, ShardFormat
from fenster.bulk.shards.base import ID, WARNINGS
from fenster.decode.files.base import FileOptions
from fenster.io import storage

_ROW, _REASON, _RAW, _SEGMENTS, _ADDED = "row", "reason", "document", "segments", "added"


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
        return storage.joined(self.output, DEAD_LETTERS, f"{self.name}.jsonl")

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


def assembled(shard: Shard, parts: Sequence[str]) -> Entry:
    """Write the shard's translation from the files of its parts, which are in order."""
    figures, dead = Figures(), []

    def additions() -> Iterator[Mapping[str, Any] | None]:
        for part in parts:
            for line in read_lines(part):
                figures.add(figures_of([line]))
                if _REASON in line:
                    dead.append(line)
                yield line.get(_ADDED)

    work = storage.joined(shard.output, WORK, "temporary")
    with storage.written(shard.target, work) as stream:
        hashed = _Hashed(stream)
        shard.reader.write(shard.source, cast(IO[bytes], hashed), additions())
    if dead:
        with storage.written(shard.dead_letters, work) as stream:
            write_lines(stream, dead)
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


def figures_of(lines: Iterable[Mapping[str, Any]]) -> Figures:
    figures = Figures()
    for line in lines:
        if _REASON in line:
            figures.dead += 1
        else:
            figures.documents += 1
            figures.segments += line[_SEGMENTS]
            figures.warnings.update(line[_ADDED][WARNINGS])
    return figures


def dead_line(number: int, id: Any, reason: str, document: Any) -> dict[str, Any]:
    """Of a row that could not be translated."""
    return {_ROW: number, ID: id, _REASON: reason, _RAW: document}


def translated_line(number: int, segments: int, added: Mapping[str, Any]) -> dict[str, Any]:
    """Of a translated row: what it gets."""
    return {_ROW: number, _SEGMENTS: segments, _ADDED: added}


def write_lines(stream: IO[bytes], lines: Iterable[Mapping[str, Any]]) -> None:
    for line in lines:
        stream.write(json.dumps(line, default=str).encode() + b"\n")


def read_lines(file: str) -> Iterator[dict[str, Any]]:
    with storage.reading(file) as stream:
        for line in stream:
            yield json.loads(line)
