"""Conversations that the service remembers: what was translated in a session is the context of what comes next."""

from __future__ import annotations

import re
import secrets
import time
from collections import deque

from fenster.serve.engine import OverloadedError

_MOST = 10_000
_IDLE = 3600.0  # seconds after which a session is forgotten
_PAIRS = 100  # more is out of every window's reach


class Sessions:
    def __init__(self) -> None:
        self._history: dict[str, deque[tuple[str, str]]] = {}
        self._used: dict[str, float] = {}

    def new(self) -> str:
        self._forget()
        if len(self._history) >= _MOST:
            raise OverloadedError
        name = secrets.token_hex(16)
        self._history[name] = deque(maxlen=_PAIRS)
        self._used[name] = time.monotonic()
        return name

    def history(self, name: str) -> list[tuple[str, str]] | None:
        """What a session has so far; None if there is no such session."""
        self._forget()
        if not re.fullmatch("[0-9a-f]{32}", name) or name not in self._history:
            return None
        self._used[name] = time.monotonic()
        return list(self._history[name])

    def add(self, name: str, source: str, target: str) -> None:
        if name in self._history:
            self._history[name].append((source, target))

    def end(self, name: str) -> bool:
        """True if there was such a session."""
        self._used.pop(name, None)
        return self._history.pop(name, None) is not None

    def _forget(self) -> None:
        old = time.monotonic() - _IDLE
        for name in [name for name, used in self._used.items() if used < old]:
            self.end(name)
