"""Interchangeable parts by name. Every seam of the package is one registry: a new part is one file and one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from fenster.errors import ConfigError

Part = TypeVar("Part")


class Registry(dict[str, Part]):
    """Parts of one kind ("metric", "alignment") by name; an unknown name is an error that lists the known ones."""

    def __init__(self, kind: str, parts: dict[str, Part]) -> None:
        super().__init__(parts)
        self.kind = kind

    def __missing__(self, name: str) -> Part:
        raise ConfigError(f"unknown {self.kind} {name!r}", expected=", ".join(self))

    def known(self, name: str) -> str:
        """`name` if it is registered; a ValueError otherwise, which is what validators of configs raise."""
        if name not in self:
            raise ValueError(f"unknown {self.kind} {name!r}; known: {', '.join(self)}")
        return name

    @contextmanager
    def extended(self, name: str, part: Part) -> Iterator[None]:
        """With one more part while the block runs: for plug-ins and tests."""
        if name in self:
            raise ConfigError(f"a {self.kind} called {name!r} exists already")
        self[name] = part
        try:
            yield
        finally:
            del self[name]
