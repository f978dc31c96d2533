"""The work of a worker on any engine: a task takes a loaded translator and returns its outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fenster.decode.translator import Translator
from fenster.errors import FensterError

TRIES = 3
"""How often a task is tried before it is blamed for the deaths of its workers."""


class Task(Protocol):
    @property
    def name(self) -> str:
        """For messages."""

    @property
    def size(self) -> int:
        """In bytes; long tasks go first."""

    def run(self, translator: Translator) -> Any:
        """The outcome; an error in the input is one too."""


@dataclass(frozen=True)
class Died:
    """The outcome of a task over which workers died again and again."""

    reason: str


class Engine(Protocol):
    """Runs tasks, in any order, and yields each with its outcome as soon as it is ready."""

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Any]]: ...


def why(error: Exception, name: str) -> str:
    """Why a task failed, for people: whatever it is, the others continue, and it is reported."""
    return str(error) if isinstance(error, FensterError) else f"{name}: {type(error).__name__}: {error}"


def longest_first(tasks: Sequence[Task]) -> list[Task]:
    return sorted(tasks, key=lambda task: task.size, reverse=True)


def death(task: Task) -> Died:
    return Died(f"{task.name}: workers died {TRIES} times while translating it, possibly out of memory")
