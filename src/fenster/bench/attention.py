"""One attention module, forward and backward, by length: every computation side by side.

One document. By default windows include the relative term in self-attention; full attention never does. On the CPU
(float32) every cell runs in a separate process, so that its peak memory can be measured. On a GPU (bfloat16) the time
is that of the GPU alone, under a CUDA graph, since launching costs more than computing; the eager time, as in a plain
training loop, is shown beside it.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from fenster.bench.memory import own_memory
from fenster.model.attention.backends import BACKENDS
from fenster.model.attention.mask import AttentionMask, Relative
from fenster.model.layout import Layout
from fenster.model.ops.torch_private import reset_compiler

MEMORY_LIMIT = {"cpu": 12 << 30, "cuda": 60 << 30}  # bytes a cell may be expected to take before it is left out
WAYS = {
    "cpu": ("reference", "dense", "gather", "block"),
    "cuda": (
        "floor",
        "explicit",
        "dense",
        "gather",
        "block",
        "flex",
        "flex+relative",
        "window-gpu",
        "window-gpu, cross",
    ),
}


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
    device: str = "cpu"
    seconds: float = 1.0

    def expected_memory(self) -> int:
        """A rough bound on bytes, to leave out what would not fit."""
        item = 4 if self.device == "cpu" else 2
        if self.way in (
            "reference",
            "explicit",
        ):  # logits, relative term, weights and their gradients of every pair
            return 6 * item * self.length**2 * self.heads
        if self.way == "gather":
            return 4 * item * self.length * (2 * self.window + 1) * self.heads * self.size
        return 0


@dataclass(frozen=True)
class Cell:
    """Median seconds of forward + backward, peak bytes beyond the inputs; on a GPU also the eager time."""

    seconds: float
    memory: int
    eager: float | None = None


def run(settings: Sequence[Setting]) -> Iterator[tuple[Setting, Cell | None]]:
    """Measure each setting; None where it would not fit."""
    for setting in settings:
        if setting.expected_memory() > MEMORY_LIMIT[setting.device]:
            yield setting, None
        elif setting.device == "cuda":
            yield setting, _measure_cuda(setting)
        else:
            command = [sys.executable, "-m", "fenster.bench.attention", json.dumps(asdict(setting))]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            yield setting, Cell(**json.loads(done.stdout))


def _build(setting: Setting) -> Callable[[], object]:
    """Forward and backward once, for every input's gradient."""
    torch.manual_seed(0)
    device, dtype = setting.device, torch.float32 if setting.device == "cpu" else torch.bfloat16
    shape = (setting.length, setting.heads, setting.size)
    if setting.way == "floor":
        return _floor(shape, device, dtype)
    inputs = [torch.randn(shape, device=device, dtype=dtype, requires_grad=True) for _ in range(3)]
    direction = torch.randn(shape, device=device, dtype=dtype)
    cross = setting.way.endswith("cross")
    if setting.relative and not cross and setting.way not in ("dense", "explicit", "flex"):
        table = torch.randn(2 * setting.window + 1, *shape[1:], device=device, dtype=dtype, requires_grad=True)
        inputs.append(table)
    attend = _attend(setting)

    def once() -> object:
        return torch.autograd.grad(attend(*inputs), inputs, direction)

    return once


def _floor(shape: tuple[int, ...], device: str, dtype: torch.dtype) -> Callable[[], object]:
    """No attention: as many numbers moved as it must at least. Forward reads q, k, v and writes the context; backward
    reads these and its gradient and writes three: twelve tensors, here six that are copied."""
    source = torch.randn((6, *shape), device=device, dtype=dtype)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def _attend(setting: Setting) -> Callable[..., Tensor]:
    """q, k, v and perhaps the table [L, H, D] -> context."""
    if setting.way.startswith("flex"):
        return _flex(setting)
    if setting.way == "explicit":
        return _explicit
    side = Layout.from_sentence_lengths([[setting.length]], setting.device)
    center = torch.arange(setting.length, device=setting.device) if setting.way.endswith("cross") else None
    window = None if setting.way == "dense" else setting.window
    mask = AttentionMask(side, side, causal=setting.causal and center is None, window=window, center=center)
    backend = BACKENDS[setting.way.partition(",")[0]]

    def attend(q: Tensor, k: Tensor, v: Tensor, table: Tensor | None = None) -> Tensor:
        return backend.attend(q, k, v, mask, None if table is None else Relative(table))

    return attend


def _explicit(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Full attention as the paper's baseline computes it: all weights in memory."""
    weights = torch.einsum("thd,shd->hts", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("hts,shd->thd", weights.softmax(-1), v)


def _flex(setting: Setting) -> Callable[..., Tensor]:
    """PyTorch's FlexAttention, compiled; the relative term as a score modification."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    length, window = setting.length, setting.window

    def near(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return ((i - j).abs() <= window) & ((j <= i) if setting.causal else (j >= 0))

    mask = create_block_mask(near, None, None, length, length, device=setting.device, _compile=True)

    def attend(q: Tensor, k: Tensor, v: Tensor, table: Tensor | None = None) -> Tensor:
        q_row, k_row, v_row = (x.transpose(0, 1).unsqueeze(0) for x in (q, k, v))  # [1, H, L, D]
        score = None
        if table is not None:
            term = torch.einsum("thd,rhd->htr", q, table)

            def score(s: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
                added: Tensor = term[h, i, (i - j).clamp(-window, window) + window]
                return s + added / math.sqrt(q.shape[-1])

        out: Tensor = flex_attention(q_row, k_row, v_row, score_mod=score, block_mask=mask)
        return out.squeeze(0).transpose(0, 1)

    compiled: Callable[..., Tensor] = torch.compile(attend, dynamic=False)
    return compiled


def measure(setting: Setting) -> Cell:
    """Measure on the CPU, here. Peak memory is this process's, so call it once per process."""
    once = _build(setting)
    before = own_memory().now
    once()
    times: list[float] = []
    while not times or (sum(times) < setting.seconds and len(times) < 50):
        began = time.perf_counter()
        once()
        times.append(time.perf_counter() - began)
    return Cell(statistics.median(times), own_memory().peak - before)


def _measure_cuda(setting: Setting) -> Cell | None:
    from triton.testing import do_bench, do_bench_cudagraph

    reset_compiler()
    torch.cuda.empty_cache()
    try:
        once = _build(setting)
        once()  # compiles
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        once()
        torch.cuda.synchronize()
        memory = torch.cuda.max_memory_allocated() - before
        # Eager time is the host's, which other work disturbs: the lowest of three medians.
        eager = min(do_bench(once, warmup=20, rep=60, return_mode="median") for _ in range(3)) / 1000
        # `block` asks the device for lengths, which a graph cannot: its time is the eager one.
        in_graph = setting.way != "block"
        seconds = do_bench_cudagraph(once, rep=20, return_mode="median") / 1000 if in_graph else eager
    except torch.OutOfMemoryError:
        return None
    return Cell(seconds, memory, eager)


def exponent(points: Sequence[tuple[int, float]]) -> float:
    """The fitted power of growth: the slope of log(value) over log(length)."""
    if len(points) < 2:
        return math.nan
    x, y = [math.log(length) for length, _ in points], [math.log(value) for _, value in points]
    return statistics.linear_regression(x, y).slope


if __name__ == "__main__":
    print(json.dumps(asdict(measure(Setting(**json.loads(sys.argv[1]))))))
