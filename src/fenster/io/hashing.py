"""Hashes of values and files."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any


def digest(body: Any) -> str:
    """Hash of a JSON value, independent of spacing and key order."""
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def unchanged_sha256(path: Path) -> str:
    """The same for a file that is asked for several times: read once, unless it changes."""
    status = path.stat()
    return _sha256(path, status.st_mtime_ns, status.st_size)


@cache
def _sha256(path: Path, _changed: int, _size: int) -> str:
    return file_sha256(path)
