"""JSON lines, compressed or not: one document per line."""

from __future__ import annotations

import json
import lzma
import zlib
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import IO, Any

from fenster.bulk.shards.base import SEGMENTS, Extent, FaultyRow, Row, ShardFormat, even_extents
from fenster.errors import InputError
from fenster.io import storage

_SUFFIXES = (".jsonl", ".ndjson")
_COMPRESSIONS = ("", ".gz", ".xz", ".bz2")
_SEGMENT = "source"  # what an object that holds a single segment has
_LOOKED_AT = 1000  # lines that tell what a file holds
_MOST_PARTS = 256  # each is read from the beginning of the file


class JsonlShards(ShardFormat):
    def recognises(self, name: str) -> bool:
        """Objects with a `source` hold a segment each, and are not for us."""
        if not name.lower().endswith(tuple(suffix + more for suffix in _SUFFIXES for more in _COMPRESSIONS)):
            return False
        for line in islice(_lines(name), _LOOKED_AT):
            row = _row(0, line)
            if isinstance(row, Row) and not row.record.keys().isdisjoint({self.column, SEGMENTS, _SEGMENT}):
                return _SEGMENT not in row.record
        return False

    def extents(self, name: str, size: int) -> list[Extent]:
        lengths = [len(line) for line in _lines(name)]
        return even_extents(iter(lengths), max(size, sum(lengths) // _MOST_PARTS))

    def rows(self, name: str, first: int, count: int) -> Iterator[Row | FaultyRow]:
        for number, line in enumerate(islice(_lines(name), first, first + count), start=first):
            yield _row(number, line)

    def write(self, name: str, stream: IO[bytes], translations: Iterator[Mapping[str, Any] | None]) -> None:
        for (number, line), added in zip(enumerate(_lines(name)), translations, strict=True):
            if added is not None:
                row = _row(number, line)
                assert isinstance(row, Row), "was translated"
                stream.write(_encoded({**row.record, **added}) + b"\n")


def _encoded(record: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a character in another column, which only an escape can spell
        return json.dumps(record).encode()


def _lines(name: str) -> Iterator[bytes]:
    """Without blank ones."""
    with storage.reading(name) as stream:
        try:
            yield from (line for line in stream if line.strip())
        except (EOFError, ValueError, OSError, zlib.error, lzma.LZMAError) as error:
            raise InputError(
                f"cannot be decompressed ({error})", path=name, fix="copy or download it again"
            ) from None


def _row(number: int, line: bytes) -> Row | FaultyRow:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return FaultyRow(number, f"not JSON ({error})", line.decode(errors="replace").rstrip("\n"))
    if not isinstance(record, dict):
        return FaultyRow(number, "not a JSON object", line.decode(errors="replace").rstrip("\n"))
    return Row(number, record)
