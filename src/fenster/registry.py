"""Interchangeable parts by name. Every seam of the package is one registry: a new part is one file and one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TypeVar

from fenster.errors import ConfigError

Part = TypeVar("Part")


class Deferred(str):
    """`module:name` of a part that is imported when it is first asked for, because its module is heavy."""

    __slots__ = ()


class Registry(Mapping[str, Part]):
    """Parts of one kind ("metric", "alignment") by name; an unknown name is an error that lists the known ones."""

    def __init__(self, kind: str, parts: Mapping[str, Part | Deferred]) -> None:
        self.kind = kind
        self._parts = dict(parts)

    def __getitem__(self, name: str) -> Part:
        if name not in self._parts:
            raise ConfigError(f"unknown {self.kind} {name!r}", expected=", ".join(self))
        part = self._parts[name]
        if isinstance(part, Deferred):
            module, _, member = part.partition(":")
            part = self._parts[name] = getattr(import_module(module), member)
        return part

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

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
        self._parts[name] = part
        try:
            yield
        finally:
            del self._parts[name]
