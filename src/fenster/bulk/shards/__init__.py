"""Shards: files that hold many documents each. A new format is one new file and one line in SHARD_FORMATS."""

from __future__ import annotations

from fenster.bulk.shards.base import TEXT, FaultyRow, Row, ShardFormat
from fenster.bulk.shards.jsonl import JsonlShards
from fenster.bulk.shards.parquet import ParquetShards
from fenster.registry import Registry

SHARD_FORMATS: Registry[type[ShardFormat]] = Registry(
    "format of shards",
    {
        "parquet": ParquetShards,
        "jsonl": JsonlShards,
    },
)


def shard_format(name: str, column: str = TEXT) -> str | None:
    """The format of a file that holds documents, by its name and its beginning; None if it holds none."""
    return next((key for key, kind in SHARD_FORMATS.items() if kind(column).recognises(name)), None)


__all__ = ["SHARD_FORMATS", "FaultyRow", "Row", "ShardFormat", "shard_format"]
