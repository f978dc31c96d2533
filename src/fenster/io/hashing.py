"""Hashes of values and files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


def digest(body: Any) -> str:
    """Hash of a JSON value, independent of spacing and key order."""
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
