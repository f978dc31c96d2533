"""The contract of a format of shards: rows of documents in, the same rows with translations out.

A row is a record of any columns. Its document is a `text`, which is split into sentences and keeps its lines, or
`segments`, a list of sentences. All columns are kept, and two are added: `translation`, of the same kind as the
document, and `warnings`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, ClassVar

TEXT, SEGMENTS, ID, REGISTER = "text", "segments", "id", "register"
"""Columns that are read."""
TRANSLATION, WARNINGS = "translation", "warnings"
"""Columns that are added."""


ALL = 1 << 62
"""A count of rows that no shard has."""


@dataclass(frozen=True)
class Row:
    number: int
    """In its shard, from 0."""
    record: Mapping[str, Any]


@dataclass(frozen=True)
class FaultyRow:
    """A row that cannot be read."""

    number: int
    reason: str
    raw: str
    """What is there instead."""


@dataclass(frozen=True)
class Extent:
    """Rows of a shard, one after the other; about `size` bytes of text."""

    first: int
    count: int
    size: int


class ShardFormat(ABC):
    suffixes: ClassVar[tuple[str, ...]] = ()
    """Names of files that hold documents in any case, and are never documents themselves."""

    def __init__(self, column: str = TEXT) -> None:
        """`column` is the name of the column of texts."""
        self.column = column

    @abstractmethod
    def recognises(self, name: str) -> bool:
        """True if this file holds documents in this format; a look at its beginning is allowed."""

    @abstractmethod
    def extents(self, name: str, size: int) -> list[Extent]:
        """All rows of a shard, in pieces of about `size` bytes of text."""

    @abstractmethod
    def rows(self, name: str, first: int, count: int) -> Iterator[Row | FaultyRow]:
        """Some rows, in order."""

    @abstractmethod
    def write(self, name: str, stream: IO[bytes], translations: Iterator[Mapping[str, Any] | None]) -> None:
        """The rows of the shard `name` with what is to be added to each; those with None are left out."""


def even_extents(sizes: Iterator[int], size: int) -> list[Extent]:
    """Rows of these sizes in pieces of about `size`; at least one row each."""
    extents, first, count, total = [], 0, 0, 0
    for one in sizes:
        if count and total + one > size:
            extents.append(Extent(first, count, total))
            first, count, total = first + count, 0, 0
        count, total = count + 1, total + one
    return [*extents, Extent(first, count, total)] if count else extents
