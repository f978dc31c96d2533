"""One attention module, forward and backward, by length: every computation side by side.

Self-attention over one document. Windows carry the relative term unless told otherwise; full attention (`dense`)
never does. On the CPU every cell runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import torch

from fenster.bench.memory import own_memory
from fenster.model.compute import COMPUTE, Compute
from fenster.model.packed import Packed
from fenster.model.pattern import Pattern, Relative

MEMORY_LIMIT = 12 << 30  # bytes a cell may be expected to take before it is left out
WAYS = ("reference", "dense", "gather", "block")


@dataclass(frozen=True)
class Setting:
    """What is measured: one document, `heads` of `size`, windows of `window`."""

    way: str
    length: int
    window: int = 20
    heads: int = 8
    size: int = 64
    relative: bool = True
    causal: bool = False
    seconds: float = 1.0

    def expected_memory(self) -> int:
        """A rough bound on bytes, to leave out what would not fit."""
        if (
            self.way == "reference"
        ):  # logits, weights, their gradients; with the relative term vectors of every pair
            pairs = self.length**2
            return 4 * pairs * self.heads * (self.size if self.relative else 5)
        if self.way == "gather":
            return 4 * 4 * self.length * (2 * self.window + 1) * self.heads * self.size
        return 0


@dataclass(frozen=True)
class Cell:
    """Median seconds of forward + backward, and peak bytes beyond the inputs."""

    seconds: float
    memory: int


def run(settings: Sequence[Setting]) -> Iterator[tuple[Setting, Cell | None]]:
    """Measure each setting in a process of its own; None where it would not fit."""
    for setting in settings:
        if setting.expected_memory() > MEMORY_LIMIT:
            yield setting, None
            continue
        command = [sys.executable, "-m", "fenster.bench.attention", json.dumps(asdict(setting))]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        yield setting, Cell(**json.loads(done.stdout))


def measure(setting: Setting) -> Cell:
    """Measure here. Peak memory is this process's, so call it once a process."""
    torch.manual_seed(0)
    side = Packed.of_sentences([[setting.length]])
    windowed = setting.way != "dense"
    pattern = Pattern(side, side, causal=setting.causal, window=setting.window if windowed else None)
    shape = (setting.length, setting.heads, setting.size)
    q, k, v = (torch.randn(shape, requires_grad=True) for _ in range(3))
    relative = None
    if setting.relative and windowed:
        relative = Relative(torch.randn(2 * setting.window + 1, *shape[1:], requires_grad=True))
    direction = torch.randn(shape)
    compute: Compute = COMPUTE[setting.way]
    before = own_memory().now

    def once() -> float:
        began = time.perf_counter()
        torch.autograd.backward(compute(q, k, v, pattern, relative), direction)
        return time.perf_counter() - began

    once()
    times = [once()]
    while sum(times) < setting.seconds and len(times) < 50:
        times.append(once())
    return Cell(statistics.median(times), own_memory().peak - before)


def exponent(points: Sequence[tuple[int, float]]) -> float:
    """The fitted power of growth: the slope of log(value) over log(length)."""
    if len(points) < 2:
        return math.nan
    x, y = [math.log(length) for length, _ in points], [math.log(value) for _, value in points]
    return statistics.linear_regression(x, y).slope


if __name__ == "__main__":
    print(json.dumps(asdict(measure(Setting(**json.loads(sys.argv[1]))))))
