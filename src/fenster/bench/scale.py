"""How translation of a corpus grows with its workers: the same shard on different engines, one after the other."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fenster.bench.serve import documents
from fenster.bulk.engines.processes import Processes
from fenster.bulk.engines.ray import RayCluster
from fenster.bulk.find import find_shards
from fenster.bulk.job import translate_shards
from fenster.bulk.part import PartOutcome
from fenster.bulk.task import Engine, Task
from fenster.decode.config import DecodeConfig
from fenster.decode.files import FileOptions
from fenster.decode.translator import settings_of
from fenster.errors import FensterError


@dataclass(frozen=True)
class Scale:
    """What some workers did."""

    engine: str
    workers: int
    documents: int
    segments: int
    seconds: float
    """From when each worker has finished a part until the last is finished: without start-up."""
    measured: int
    """Documents that were finished in that time."""
    all_seconds: float

    @property
    def rate(self) -> float:
        """Documents per second."""
        return self.measured / self.seconds


class Timed:
    """An engine whose outcomes are timed."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.times = engine, list[tuple[float, int]]()

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Any]]:
        for task, outcome in self._engine.run(tasks):
            if not isinstance(outcome, PartOutcome):
                raise FensterError(f"a part failed ({outcome})")
            self.times.append((time.perf_counter(), outcome.figures.documents))
            yield task, outcome


def measure(name: str, workers: int, model: Path, config: DecodeConfig, device: str, count: int, parts: int) -> Scale:
    """`count` documents of one to eight sentences, in `parts` parts, on some workers."""
    engine = (
        Processes(workers, model, config, device) if name == "processes" else _ray(workers, model, config, device)
    )
    with tempfile.TemporaryDirectory(prefix="fenster-scale-") as folder:
        source = Path(folder) / "in.jsonl"
        lines = [json.dumps({"id": n, "segments": given}) + "\n" for n, given in enumerate(documents(count))]
        source.write_text("".join(lines), encoding="utf-8")
        output = str(Path(folder) / "out")
        listing = find_shards([str(source)], output, FileOptions(), (model, settings_of(config)))
        timed, began = Timed(engine), time.perf_counter()
        summary = translate_shards(listing, output, timed, source.stat().st_size // parts)
        ended = time.perf_counter()
    # From when every worker has finished a part: what is finished later was begun later, by and large.
    first, last = timed.times[workers - 1][0], timed.times[-1][0]
    later = sum(count for _, count in timed.times[workers:])
    figures = summary.figures
    return Scale(name, workers, figures.documents, figures.segments, last - first, later, ended - began)


def _ray(workers: int, model: Path, config: DecodeConfig, device: str) -> RayCluster:
    return RayCluster("local", model, config, device, actors_per_gpu=workers, most_actors=workers)
