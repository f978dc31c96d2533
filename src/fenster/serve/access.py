"""Who may use the service, and how often."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import deque
from pathlib import Path

from fenster.errors import InputError
from fenster.io.files import TextFiles

_MINUTE = 60.0
_MOST_CLIENTS = 10_000  # whose requests are counted


class RefusedError(Exception):
    """`status` is the HTTP status, `retry_after` the seconds to wait, if that helps."""

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after


class Access:
    def __init__(self, keys: Path | None, requests_per_minute: int | None) -> None:
        self._keys = None if keys is None else read_keys(keys)
        self._most = requests_per_minute
        self._times: dict[str, deque[float]] = {}  # of each client, the one that asked last at the end

    @property
    def needs_key(self) -> bool:
        return self._keys is not None

    def check(self, key: str, address: str) -> None:
        """Refuse a request with a wrong key, or one too many of a client in a minute."""
        if self._keys is not None:
            if not key:
                raise RefusedError(403, "Please contact the server operator to get an API key")
            if hashed(key) not in self._keys:
                raise RefusedError(403, "Invalid API key")
        if self._most is not None:
            self._count(hashed(key) if self._keys is not None else address)

    def _count(self, client: str) -> None:
        assert self._most is not None
        now = time.monotonic()
        times = self._times[client] = self._times.pop(client, deque())
        if len(self._times) > _MOST_CLIENTS:
            del self._times[next(iter(self._times))]
        while times and times[0] <= now - _MINUTE:
            times.popleft()
        if len(times) >= self._most:
            wait = int(times[0] + _MINUTE - now) + 1
            raise RefusedError(429, f"Slowdown: {self._most} per 1 minute", wait)
        times.append(now)


def hashed(key: str) -> str:
    """Keys are long and random, so that one round is enough."""
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()


def new_key() -> str:
    return secrets.token_urlsafe(24)


def read_keys(path: Path) -> frozenset[str]:
    """One hash per line, and a name after it if wanted; blank lines and lines that begin with # do not count."""
    keys = set()
    for number, line in TextFiles().lines(path):
        if not line.strip() or line.startswith("#"):
            continue
        key = line.split()[0]
        if len(key) != 64 or not all(character in "0123456789abcdef" for character in key):
            raise InputError(
                "not a hashed key", path=path, line=number, fix="make one with `fenster serve --new-key`"
            )
        keys.add(key)
    if not keys:
        raise InputError("no keys", path=path, fix="make one with `fenster serve --new-key`")
    return frozenset(keys)
