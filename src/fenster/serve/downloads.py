"""Translated files that wait to be fetched: under names that nobody can guess, for a while."""

from __future__ import annotations

import re
import secrets
import tempfile
import time
from pathlib import Path

_KEPT = 3600.0  # seconds


class Downloads:
    """Nothing of a client's names becomes part of a path."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fenster-serve-")
        self._kept: dict[str, tuple[float, str]] = {}
        """By token, when it was made and the name to show."""

    def add(self, data: bytes, name: str) -> str:
        """Keep a file; returns its token."""
        self._forget()
        token = secrets.token_hex(16)
        (Path(self._folder.name) / token).write_bytes(data)
        self._kept[token] = time.monotonic(), name
        return token

    def find(self, token: str) -> tuple[Path, str] | None:
        """(where it is, the name to show) of a file that is still kept."""
        self._forget()
        if not re.fullmatch("[0-9a-f]{32}", token) or token not in self._kept:
            return None
        return Path(self._folder.name) / token, self._kept[token][1]

    def close(self) -> None:
        self._folder.cleanup()

    def _forget(self) -> None:
        old = [token for token, (made, _) in self._kept.items() if made < time.monotonic() - _KEPT]
        for token in old:
            (Path(self._folder.name) / token).unlink(missing_ok=True)
            del self._kept[token]
