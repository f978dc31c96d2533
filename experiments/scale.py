"""Where each part stops scaling: measured at sizes that fit here, and projected from there (docs/scale.md).

    python experiments/scale.py -o results/scale.json
    python experiments/scale.py --only manifest --sizes 100000

index: the example index and the plan of an epoch over N documents of training data, without their text.
portions: the same over N sentences in portions of 16 shards.
prepare: `fenster prepare` of N made-up sentence pairs, with its memory.
manifest: writing and reading a manifest of N finished shards.
schedule: 1,000 workers that fail now and then, on parts of different sizes (a simulation, no translation).
"""

from __future__ import annotations

import heapq
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from script import parser, write

from fenster.bulk.manifest import Entry, Manifest
from fenster.data.context import SentenceContext
from fenster.data.dataset import Shard, Side, Split
from fenster.data.examples import ExampleIndex
from fenster.data.manifest import SplitRecord
from fenster.data.portions import Portions
from fenster.data.prepare import prepare as run_prepare
from fenster.data.prepare.config import CorpusConfig, PrepareConfig
from fenster.data.sampler import BatchConfig, Sampler
from fenster.data.tokenizer import TokenizerConfig, learn

_SHARDS = 1000
_SENTENCES = 4_000_000 // 25  # of a made-up shard


class MadeUpShards(Sequence[Shard]):
    """Shards of sentences of 5 to 44 tokens, 4M target tokens each, made when asked for; they hold no ids."""

    def __init__(self, sentences: int) -> None:
        self._sentences = sentences

    def __len__(self) -> int:
        return -(-self._sentences // _SENTENCES)

    def __getitem__(self, number: Any) -> Any:
        count = min(_SENTENCES, self._sentences - number * _SENTENCES)
        starts = np.cumsum(np.random.default_rng(number).integers(5, 45, count), dtype=np.int64)
        side = Side(np.zeros(0, np.uint16), np.concatenate([[0], starts]))
        ends = np.append(np.arange(0, count, 20), count)
        return Shard(side, side, ends, [""] * (len(ends) - 1))


def portions(size: int) -> dict[str, Any]:
    """What a training process holds, and how long it takes, for the first portion and for others."""
    split = Split("train", SplitRecord.model_construct(), MadeUpShards(size))  # type: ignore[call-arg]
    before, began = _memory(), time.perf_counter()
    made = Portions(split, SentenceContext(), BatchConfig(tokens=32_000, shards=16))
    first, held = time.perf_counter() - began, _memory() - before
    began = time.perf_counter()
    examples = [len(made.plan(0, number).order) for number in range(1, min(4, made.portions))]
    return {
        "examples": size,
        "shards": len(split.shards),
        "portions": made.portions,
        "first_plan_seconds": first,
        "seconds_per_portion": (time.perf_counter() - began) / max(1, len(examples)),
        "examples_per_portion": examples[:1],
        "bytes": held,
        "bytes_after_more_portions": _memory() - before,
    }


def prepare(size: int) -> dict[str, Any]:
    """`fenster prepare` with a tokenizer that exists, of documents of 20 pairs."""
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghilmnoprstuw", k=draw.randint(2, 9))) for _ in range(20_000)]
    common = [words[min(int(draw.paretovariate(0.6)), len(words)) - 1] for _ in range(400_000)]
    lines = [" ".join(common[at : at + 12]) for at in range(0, len(common) - 12, 4)]
    with tempfile.TemporaryDirectory() as folder:
        corpus, model = Path(folder) / "corpus.tsv", Path(folder) / "tokenizer.model"
        with corpus.open("w", encoding="utf-8") as out:
            for number in range(0, size, 20):
                pairs = [(lines[(number + n) % len(lines)], lines[-(number + n) % len(lines)]) for n in range(20)]
                out.write("".join(f"{number}\t{a}\t{b}\n" for a, b in pairs) + "\n")
        learn(lines[:50_000], TokenizerConfig(vocab_size=8000)).save(model)
        config = PrepareConfig(
            output=Path(folder) / "data",
            splits={"train": (CorpusConfig(paths=(corpus,)),)},
            tokenizer=TokenizerConfig(model=model),
        )
        began = time.perf_counter()
        record = run_prepare(config).prepared.manifest.splits["train"]
        seconds = time.perf_counter() - began
        return {
            "pairs": record.sentences,
            "corpus_bytes": corpus.stat().st_size,
            "shards": len(record.shards),
            "seconds": seconds,
            "sentences_per_second": 2 * record.sentences / seconds,
            "main_bytes": _memory(),
            "worker_bytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
        }


def index(size: int) -> dict[str, Any]:
    """An index of `size` examples as `ExampleIndex.build` makes it, and one epoch's plan."""
    before, began = _memory(), time.perf_counter()
    draw = np.random.default_rng(1)
    lengths = draw.integers(50, 1000, size, dtype=np.int32)
    shard = cast(Shard, SimpleNamespace(documents=-(-size // _SHARDS), corpora=None, groups=None))
    made = ExampleIndex(
        (shard,) * _SHARDS,
        (np.arange(size) * _SHARDS // size).astype(np.uint16),
        (np.arange(size) % -(-size // _SHARDS)).astype(np.int32),
        np.zeros(size, np.int32),
        np.full(size, 20, np.int32),
        np.zeros(size, np.bool_),
        lengths,
        lengths,
    )
    built, held = time.perf_counter() - began, _memory() - before
    began = time.perf_counter()
    plan = Sampler(made, BatchConfig(tokens=32_000)).plan(0)
    return {
        "examples": size,
        "build_seconds": built,
        "index_bytes_per_example": held / size,
        "plan_seconds": time.perf_counter() - began,
        "batches": len(plan),
        "peak_bytes_per_example": _memory() / size,
    }


def manifest(size: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        with Manifest(folder) as made:
            for number in range(size):
                made.add(f"part-{number:08}.parquet", Entry("0" * 64, f"{number:064x}", 1000, 1))
        written = time.perf_counter() - began
        began, before = time.perf_counter(), _memory()
        entries = Manifest(folder).entries
        assert len(entries) == size
        (segment,) = (Path(folder) / ".fenster" / "manifest").iterdir()
        return {
            "shards": size,
            "write_seconds": written,
            "read_seconds": time.perf_counter() - began,
            "file_bytes": segment.stat().st_size,
            "memory_bytes": _memory() - before,
        }


def schedule(minutes: float, workers: int = 1000, hours: float = 10.0, mean_life: float = 24.0) -> dict[str, Any]:
    """Workers that live `mean_life` hours on average, and parts of `minutes` minutes on average, longest first. A
    worker that dies loses its part, and is back after five minutes. How much longer the job takes than without."""
    draw = random.Random(1)
    total = workers * hours * 60 / minutes
    parts = sorted((draw.lognormvariate(0, 0.5) * minutes / 60 for _ in range(round(total))), reverse=True)
    ideal = sum(parts) / workers
    lost = deaths = 0.0
    free = [(0.0, draw.expovariate(1 / mean_life)) for _ in range(workers)]  # (free at, dies at)
    heapq.heapify(free)
    waiting = list(reversed(parts))
    end = 0.0
    while waiting:
        at, dies = heapq.heappop(free)
        part = waiting.pop()
        if at + part <= dies:
            end = max(end, at + part)
            heapq.heappush(free, (at + part, dies))
            continue
        deaths += 1
        lost += max(0.0, dies - at)
        waiting.append(part)
        back = max(at, dies) + 5 / 60
        heapq.heappush(free, (back, back + draw.expovariate(1 / mean_life)))
    return {
        "workers": workers,
        "part_minutes": minutes,
        "parts": len(parts),
        "deaths": deaths,
        "ideal_hours": ideal,
        "hours": end,
        "overhead": end / ideal - 1,
        "lost_share": lost / sum(parts),
    }


def _memory() -> int:
    """Most that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _apart(kind: str, size: float) -> dict[str, Any]:
    """In a process of its own, so that its memory is its own."""
    code = f"import json, scale; print(json.dumps(scale.{kind}({size})))"
    folder = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    print(kind, json.dumps(result))
    return result


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--only", choices=("index", "portions", "prepare", "manifest", "schedule"))
    options.add_argument("--sizes", type=int, nargs="+")
    given = options.parse_args()
    usual: dict[str, list[float]] = {
        "index": [1_000_000, 10_000_000, 30_000_000],
        "portions": [10_000_000, 100_000_000, 1_000_000_000],
        "prepare": [100_000, 1_000_000, 10_000_000],
        "manifest": [10_000, 100_000, 1_000_000],
        "schedule": [1, 5, 15, 60, 240],
    }
    chosen = [given.only] if given.only else list(usual)
    write({kind: [_apart(kind, size) for size in given.sizes or usual[kind]] for kind in chosen}, given.output)


if __name__ == "__main__":
    main()
