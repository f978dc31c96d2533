"""What each table needs, as `plan.yaml` lists it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field

from fenster.config import Config, load
from fenster.errors import ConfigError

Measure = Literal["translations", "searches", "alignments", "attention", "contrastive", "items"]
Settings = dict[str, Any]
T = TypeVar("T")


class SystemPlan(Config):
    """A system: a training configuration and what differs from it."""

    config: str
    searches: tuple[str, ...]
    set: Settings = Field(default_factory=dict)
    warm_start: str | None = None
    """The system whose weights it begins with."""


class TestPlan(Config):
    """A test set below the data root."""

    paths: tuple[Path, ...]
    segments: int


class TaskPlan(Config):
    """Data, and what is measured on it."""

    about: str
    prepare: str
    train: str
    tests: dict[str, TestPlan]
    contrastive: Path | None = None
    contrastive_documents: Path | None = None
    """For more context than the contrastive set itself carries."""
    items: Path | None = None
    rules: str = "en-de"
    systems: tuple[str, ...]

    @property
    def test_paths(self) -> list[Path]:
        """Everything that is measured on, below the data root."""
        further = (self.contrastive, self.contrastive_documents, self.items)
        paths = [path for test in self.tests.values() for path in test.paths]
        return [*paths, *(path for path in further if path is not None)]


class TablePlan(Config):
    """One table of the paper."""

    about: str
    titles: tuple[str, ...]
    """How the report's tables begin that show it."""
    systems: tuple[str, ...] = ()
    measures: tuple[Measure, ...]


class Cost(Config):
    """How fast things are on a kind of device, roughly."""

    train: float
    translate: float
    score: float
    prepare: float


class ReproducePlan(Config):
    budgets: dict[str, Settings]
    systems: dict[str, SystemPlan]
    tasks: dict[str, TaskPlan]
    tables: dict[str, TablePlan]
    costs: dict[str, Cost]

    def table(self, name: str) -> TablePlan:
        """By its number; `table5` and `Table 5` are understood, too."""
        return _known("table", name.lower().removeprefix("table").strip(" -"), self.tables)

    def task(self, name: str) -> TaskPlan:
        return _known("task", name, self.tasks)

    def budget(self, name: str) -> Settings:
        return _known("budget", name, self.budgets)

    def chosen(self, table: TablePlan, task: TaskPlan, wanted: tuple[str, ...]) -> dict[str, SystemPlan]:
        """The systems of a table, those whose weights others begin with first."""
        names = wanted or table.systems or task.systems
        chosen: dict[str, SystemPlan] = {}
        for name in names:
            system = _known("system", name, self.systems)
            if system.warm_start is not None and system.warm_start not in chosen:
                chosen[system.warm_start] = self.systems[system.warm_start]
            chosen[name] = system
        return chosen


def _known(what: str, name: str, among: dict[str, T]) -> T:
    if name not in among:
        raise ConfigError(f"no {what} is called {name!r}", expected=", ".join(among))
    return among[name]


@lru_cache
def built_in_plan() -> ReproducePlan:
    return load(Path(__file__).with_name("plan.yaml"), ReproducePlan)
