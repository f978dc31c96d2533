"""The steps that a table needs, in order, with about how long each takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fenster.config import load
from fenster.configs import find_config
from fenster.data.prepare.config import DATA_ROOT
from fenster.errors import ConfigError, InputError
from fenster.reproduce.plan import Cost, ReproducePlan, SystemPlan, TablePlan, TaskPlan
from fenster.reproduce.step import Step
from fenster.train.config import TrainConfig

_CANDIDATES = 36_031  # of ContraPro
_ITEMS = 1000
_ALIGNMENTS = ("one-to-one", "train-ratio")
_GIVEN = ("0", "1", "2", "4", "all")


@dataclass(frozen=True)
class Request:
    """What is to be reproduced, and how."""

    table: str
    task: str
    into: str
    """The folder below `runs` and `results`."""
    systems: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (1,)
    budget: str = "full"
    beam: int = 12
    batch_size: int = 64
    device: str = "auto"
    settings: tuple[str, ...] = ()
    """Overrides of training, `KEY=VALUE`."""
    data_root: Path = Path("data/raw")
    runs: Path = Path("runs")
    results: Path = Path("results")


def steps(plan: ReproducePlan, request: Request, cost: Cost) -> list[Step]:
    """All that the table needs; what exists already is marked as done."""
    if request.beam < 1 or min(request.seeds) < 0 or Path(request.into).name != request.into:
        raise ConfigError(
            f"--beam {request.beam}, --seeds {' '.join(map(str, request.seeds))}, --into {request.into}",
            expected="a beam of 1 or more, seeds of 0 or more, and the name of a folder",
        )
    table, task = plan.table(request.table), plan.task(request.task)
    systems = plan.chosen(table, task, request.systems)
    _check_tests(task, request.data_root)
    planner = _Planner(table, task, plan.budget(request.budget), request, cost)
    made = [planner.prepare()]
    for seed in request.seeds:
        for name, system in systems.items():
            made += [planner.train(name, system, seed), *planner.evaluate(name, system, seed)]
    return made


def _check_tests(task: TaskPlan, root: Path) -> None:
    """Before anything is trained: are the test sets there?"""
    for path in task.test_paths:
        if not (root / path).exists():
            raise InputError(
                "no such test set",
                path=root / path,
                expected=f"the corpora of task {task.about!r}",
                fix=f"give --data-root, or set {DATA_ROOT}",
            )


class _Planner:
    def __init__(
        self, table: TablePlan, task: TaskPlan, budget: dict[str, Any], request: Request, cost: Cost
    ) -> None:
        self._table, self._task, self._budget, self._request, self._cost = table, task, budget, request, cost
        self._tests = task.tests

    def prepare(self) -> Step:
        find_config(Path(self._task.prepare), "prepare")
        command = ("prepare", self._task.prepare, "--data-root", str(self._request.data_root))
        return Step("prepare", command, (Path("data") / self._task.prepare,), 600_000 / self._cost.prepare)

    def train(self, name: str, system: SystemPlan, seed: int) -> Step:
        output = self._run(name, seed)
        keys = self._budget | system.set | {"seed": seed, "batch.seed": seed, "device": self._request.device}
        if system.warm_start is not None:
            keys["warm_start"] = self._run(system.warm_start, seed) / "model"
        keys["output"] = output
        settings = [f"{key}={'null' if value is None else value}" for key, value in keys.items()]
        settings += self._request.settings
        command = ["train", f"{self._task.train}/{system.config}"]
        for setting in settings:
            command += ["--set", setting]
        config = load(
            find_config(Path(command[1]), "train"), TrainConfig, settings
        )  # says what is wrong, if anything
        tokens = (config.stop.updates or 0) * config.batch.tokens
        return Step("train", tuple(command), (output,), tokens / self._cost.train)

    def evaluate(self, name: str, system: SystemPlan, seed: int) -> Iterator[Step]:
        """The measurements that the table is made of."""
        folder, measures = self._request.results / self._request.into / name / f"seed-{seed}", self._table.measures
        first = next(iter(self._tests))
        for test in self._tests:
            searches = system.searches if "searches" in measures else system.searches[:1]
            if "searches" in measures and test != first:
                continue  # Table 3 is about one test set
            for search in searches:
                suffix = "" if search == system.searches[0] else f".{search}"
                yield self._translation(name, seed, test, folder / f"{test}{suffix}.json", "--strategy", search)
        if "alignments" in measures and system.config == "window":
            for alignment in _ALIGNMENTS:
                more = ("--strategy", "sequential", "--context", "part", "--alignment", alignment)
                yield self._translation(name, seed, first, folder / f"{first}.{alignment}.json", *more)
        if "attention" in measures:
            command = [
                "attention",
                *self._shared(name, seed),
                *self._test(first),
                "-o",
                str(folder / "attention.json"),
            ]
            yield self._step(command, name, seed, self._tests[first].segments / self._cost.translate / 4)
        if "contrastive" in measures and self._task.contrastive is not None:
            items, documents = self._request.data_root / self._task.contrastive, self._task.contrastive_documents
            command = ["contrapro", str(items), *self._shared(name, seed), *self._search(), "--translate"]
            command += [] if documents is None else ["--documents", str(self._request.data_root / documents)]
            seconds = _CANDIDATES / self._cost.score + _CANDIDATES / 3 / self._cost.translate
            scored = folder / "contrapro.json"
            both = (scored, scored.with_name("contrapro.translated.json.xz"))
            yield self._step([*command, "-o", str(scored)], name, seed, seconds, both)
        if "items" in measures and self._task.items is not None:
            given = _GIVEN[:1] if system.searches == ("sentence",) else _GIVEN
            path = self._request.data_root / self._task.items
            command = ["items", str(path), *self._shared(name, seed), *self._search(), "--limit", str(_ITEMS)]
            command += ["--given", *given, "-o", str(folder / "ctxpro")]
            made = tuple(folder / "ctxpro" / f"{path.name.split('.jsonl')[0]}.{amount}.json" for amount in given)
            yield self._step(command, name, seed, len(given) * _ITEMS / self._cost.translate, made)

    def _translation(self, name: str, seed: int, test: str, output: Path, *options: str) -> Step:
        rules = ["--rules", self._task.rules]
        command = ["evaluate", *self._shared(name, seed), *self._search(), *self._test(test), *rules, *options]
        return self._step(
            [*command, "-o", str(output)], name, seed, self._tests[test].segments / self._cost.translate
        )

    def _step(self, command: list[str], name: str, seed: int, seconds: float, outputs: tuple[Path, ...] = ()) -> Step:
        """What the command writes is its last option unless `outputs` says otherwise."""
        made = outputs or (Path(command[-1]),)
        return Step("evaluate", tuple(command), made, seconds, self._run(name, seed) / "model")

    def _run(self, name: str, seed: int) -> Path:
        return self._request.runs / self._request.into / name / f"seed-{seed}"

    def _shared(self, name: str, seed: int) -> list[str]:
        model = str(self._run(name, seed) / "model")
        return ["--model", model, "--title", name, "--device", self._request.device]

    def _search(self) -> list[str]:
        """The paper's method, and nothing else."""
        size = ["--beam", str(self._request.beam), "--batch-size", str(self._request.batch_size)]
        return ["--precision", "float32", "--no-guards", "--no-protection", *size]

    def _test(self, test: str) -> list[str]:
        return ["--test", *(str(self._request.data_root / path) for path in self._tests[test].paths), "--name", test]
