"""Tasks on a Ray cluster: Ray Data with a pool of actors that hold a model each.

Ray starts, places and replaces the actors, and gives a task whose actor or node died to another one. Nodes need
fenster and access to the documents, but not the model: its files travel with the job, once to each node.
"""

from __future__ import annotations

import hashlib
import logging
import os
import socket
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from fenster.bulk.task import TRIES, Task, death, longest_first
from fenster.decode.config import FILE_SETTINGS, DecodeConfig
from fenster.decode.translator import Translator
from fenster.errors import FensterError
from fenster.io import progress
from fenster.io.files import atomic_folder
from fenster.io.progress import report

_WAVE = 10_000  # tasks that Ray knows of at a time: its own books grow with them
_MOST_ACTORS = 4096
_PATIENCE = 10.0  # seconds for a cluster to answer


class RayCluster:
    def __init__(
        self,
        address: str,
        folder: Path,
        config: DecodeConfig,
        device: str,
        actors_per_gpu: int = 1,
        most_actors: int = _MOST_ACTORS,
    ) -> None:
        """`address`: of a cluster, `auto` for the one that this machine belongs to, or `local` to start one here. An
        actor takes a GPU or a share of one, or on CPUs as many cores as the settings have threads (one if they do
        not say)."""
        self._address, self._config, self._device, self._most_actors = address, config, device, most_actors
        self._actors_per_gpu = actors_per_gpu
        self._model = ModelFiles.read(folder, config)

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Any]]:
        ray = _require_ray()
        began_here = not ray.is_initialized()
        if began_here:
            self._connect(ray)
        try:
            waiting = iter(longest_first(tasks))
            finished = 0
            while wave := list(islice(waiting, _WAVE)):
                for task, outcome in self._wave(ray, wave):
                    finished += 1
                    report(f"{finished:,} of {len(tasks):,}: {task.name}")
                    yield task, outcome
        finally:
            if began_here:
                ray.shutdown()

    def _connect(self, ray: Any) -> None:
        """Without Ray's messages, which are for its developers."""
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
        if self._address == "local":
            quiet["include_dashboard"] = False
        try:
            if self._address not in ("auto", "local"):
                host, port = self._address.rsplit(":", 1)
                socket.create_connection((host, int(port)), _PATIENCE).close()  # Ray itself would try for minutes
            ray.init(address=self._address, **quiet)
        except (OSError, RuntimeError, ValueError) as error:
            raise FensterError(
                f"no Ray cluster answers at {self._address!r} ({str(error).splitlines()[0]})",
                expected="auto, local, or HOST:PORT",
                fix="start one (`ray start --head`), or use --ray local",
            ) from None

    def _wave(self, ray: Any, tasks: Sequence[Task]) -> Iterator[tuple[Task, Any]]:
        import ray.data
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
        attempts = ray.remote(num_cpus=0, max_restarts=-1)(Attempts).options(scheduling_strategy=here).remote()
        has_gpus = self._device == "cuda" or (self._device == "auto" and ray.cluster_resources().get("GPU", 0) > 0)
        threads = self._config.threads or 1
        gpus = (10_000 // self._actors_per_gpu) / 10_000 if has_gpus else 0.0
        cores = 1 if has_gpus else threads
        if not any(_has(node, cores, gpus) for node in ray.nodes()):
            report(f"no node has {'a GPU and ' * has_gpus}{cores} core{'s' * (cores > 1)}: waiting until one joins")
        device = "cuda" if has_gpus else "cpu"
        config = self._config if has_gpus else self._config.model_copy(update={"threads": threads})
        numbers = ray.data.from_items(
            [{"number": number} for number in range(len(tasks))], override_num_blocks=len(tasks)
        )
        outcomes = numbers.map_batches(
            ModelActor,
            fn_constructor_args=(ray.put(self._model), config, device, ray.put(list(tasks)), attempts),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(
                # Two in flight: with fewer Ray Data never adds an actor.
                min_size=1,
                max_size=min(len(tasks), self._most_actors),
                max_tasks_in_flight_per_actor=2,
            ),
            **({"num_gpus": gpus} if has_gpus else {"num_cpus": cores}),  # with a GPU Ray adds a core
        )
        try:
            for row in outcomes.iter_rows():
                outcome = row["outcome"].value
                if isinstance(outcome, FensterError):
                    raise outcome
                yield tasks[row["number"]], outcome
        except ray.exceptions.RayError as error:
            raise FensterError(f"Ray gave up ({error})", fix="run the same command again: it resumes") from error


def _has(node: dict[str, Any], cores: int, gpus: float) -> bool:
    """True if a node of the cluster is large enough for an actor."""
    resources = node["Resources"]
    return bool(node["Alive"] and resources.get("CPU", 0) >= cores and resources.get("GPU", 0) >= gpus)


@dataclass(frozen=True)
class Boxed:
    """An outcome, so that Ray Data passes it on as it is."""

    value: Any


class Attempts:
    """Counts how often each task was begun, since an actor that dies cannot report which task it died on."""

    def __init__(self) -> None:
        self._begun: dict[int, int] = {}

    def begin(self, number: int) -> int:
        self._begun[number] = self._begun.get(number, 0) + 1
        return self._begun[number]

    def finish(self, number: int) -> None:
        self._begun.pop(number, None)


class ModelActor:
    """Loads the model once, and runs tasks by their numbers."""

    def __init__(self, model: Any, config: DecodeConfig, device: str, tasks: Any, attempts: Any) -> None:
        import ray

        progress.console.quiet = True
        files: ModelFiles = ray.get(model)
        self._translator: Translator | FensterError
        try:
            self._translator = Translator.load(*files.placed(config), device)
        except FensterError as error:  # raised here Ray would try again for ever
            self._translator = error
        except Exception as error:
            self._translator = FensterError(f"the model cannot be loaded ({type(error).__name__}: {error})")
        self._tasks: list[Task] = ray.get(tasks)
        self._attempts = attempts

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        number = int(batch["number"][0])
        if isinstance(self._translator, FensterError):
            return {"number": [number], "outcome": [Boxed(self._translator)]}
        task = self._tasks[number]
        begun = self._counted(self._attempts.begin, number) or 1
        outcome = death(task) if begun > TRIES else task.run(self._translator)
        self._counted(self._attempts.finish, number)
        return {"number": [number], "outcome": [Boxed(outcome)]}

    def _counted(self, method: Any, number: int) -> int | None:
        """None while the counter is away: its node may have died, too, and then it starts again elsewhere."""
        import ray

        try:
            count: int | None = ray.get(method.remote(number))
        except ray.exceptions.RayError:
            return None
        return count


@dataclass(frozen=True)
class ModelFiles:
    """A model folder, and the files that settings name, as they travel to the nodes."""

    model: dict[str, bytes]
    settings: dict[str, tuple[str, bytes]]
    """By the setting, the file's name and content."""
    sha256: str

    @classmethod
    def read(cls, folder: Path, config: DecodeConfig) -> ModelFiles:
        model = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
        paths = {name: getattr(config, name) for name in FILE_SETTINGS}
        settings = {name: (path.name, path.read_bytes()) for name, path in paths.items() if path is not None}
        hashed = hashlib.sha256()
        for name, content in [*model.items(), *settings.values()]:
            hashed.update(f"{name} {len(content)}\n".encode())
            hashed.update(content)
        return cls(model, settings, hashed.hexdigest())

    def placed(self, config: DecodeConfig) -> tuple[Path, DecodeConfig]:
        """The files in a folder of this node, which all of its actors share."""
        folder = Path(tempfile.gettempdir()) / f"fenster-models-{os.getuid()}" / self.sha256
        if not folder.is_dir():
            try:
                self._write(folder)
            except OSError:
                if not folder.is_dir():  # or another actor was faster
                    raise
        named = {setting: folder / setting / name for setting, (name, _) in self.settings.items()}
        return folder / "model", config.model_copy(update=named)

    def _write(self, folder: Path) -> None:
        with atomic_folder(folder) as temporary:
            (temporary / "model").mkdir()
            for name, content in self.model.items():
                (temporary / "model" / name).write_bytes(content)
            for setting, (name, content) in self.settings.items():
                (temporary / setting).mkdir()
                (temporary / setting / name).write_bytes(content)


def _require_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
    except ImportError:
        raise FensterError("--ray needs Ray", fix="pip install 'fenster[ray]'") from None
    return ray
