"""Shards of made-up documents, and what is in them after translation."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

NAMES = ("Anna", "Ben", "Carl", "Dora")


def documents(count: int, sentences: int = 3, start: int = 0) -> list[dict[str, Any]]:
    """With a text each, of different lengths."""
    return [
        {
            "id": f"doc-{number}",
            "text": " ".join(
                f"Here is the lamp of {NAMES[(number + k) % 4]}." for k in range(1 + number % sentences)
            ),
            "url": f"https://example.org/{number}",
        }
        for number in range(start, start + count)
    ]


def write_jsonl(path: Path, records: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def write_parquet(path: Path, records: list[dict[str, Any]], rows_per_group: int = 4) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(records), path, row_group_size=rows_per_group)
    return path


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.splitlines()]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file that a user sees, byte for byte."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in files
        if not path.relative_to(folder).parts[0].startswith(".")
    }
