"""All tasks in this process, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fenster.bulk.task import Task
from fenster.decode.translator import Translator
from fenster.io.progress import report


class Here:
    def __init__(self, translator: Translator) -> None:
        self._translator = translator

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Any]]:
        for number, task in enumerate(tasks, start=1):
            report(f"{number} of {len(tasks)}: {task.name}")
            yield task, task.run(self._translator)
