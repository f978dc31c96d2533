"""Training speed, ours and a compiled `nn.Transformer` side by side in one run.

The baseline is what a user would write: PyTorch's own base transformer on rectangular batches (here unpadded, its
best case), tied embeddings, label smoothing over all logits, bfloat16 autocast on a GPU, torch.compile, fused Adam.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fenster.bench.memory import own_memory
from fenster.config import check
from fenster.data.batch import Batch, PackedSide
from fenster.data.examples import concatenate
from fenster.data.tokenizer import BOS_ID
from fenster.model.config import preset
from fenster.model.positions import sinusoids
from fenster.model.transformer import Transformer
from fenster.train.config import TrainConfig
from fenster.train.distributed import World
from fenster.train.inputs import Inputs
from fenster.train.update import Engine, autocasting

VOCABULARY = 15_000
SENTENCE = 32  # tokens of a document's sentences, end symbols included
SYSTEMS = ("nn.Transformer", "full", "window", "window, ffn again")


@dataclass(frozen=True)
class Cell:
    tokens_per_second: float
    memory: int
    """Bytes: on a GPU the most that PyTorch reserved, on a CPU what is resident at the end."""
    first: float
    """Seconds until the first update was done, compilation included."""


def run(
    device: torch.device, lengths: Sequence[int], tokens: int, systems: Sequence[str], seconds: float, compiled: bool
) -> Iterator[tuple[str, int, Cell | None]]:
    """(system, length, measurement) as they come; None where memory did not suffice."""
    for length in lengths:
        for system in systems:
            update = None
            gc.collect()  # the system before must be gone before memory is measured
            torch.compiler.reset()
            if device.type == "cuda":
                torch.cuda.empty_cache()
            make = _baseline if system == "nn.Transformer" else _ours
            try:
                update = make(system, device, length, max(tokens, length), compiled)
                cell = _measure(update, device, max(tokens, length) // length * length, seconds)
            except torch.OutOfMemoryError:
                cell = None
            yield system, length, cell


def _measure(update: Callable[[], None], device: torch.device, tokens: int, seconds: float) -> Cell:
    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()

    began = time.perf_counter()
    update()
    wait()
    first = time.perf_counter() - began
    for _ in range(3):  # shapes seen, graphs captured
        update()
    wait()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - began < seconds:
        start = time.perf_counter()
        for _ in range(5 if device.type == "cuda" else 1):
            update()
        wait()
        times.append((time.perf_counter() - start) / (5 if device.type == "cuda" else 1))
    memory = torch.cuda.max_memory_reserved() if device.type == "cuda" else own_memory().now
    return Cell(tokens / float(np.median(times)), memory, first)


def _ours(system: str, device: torch.device, length: int, tokens: int, compiled: bool) -> Callable[[], None]:
    windows, again = system.startswith("window"), system.endswith("ffn again")
    attention = {"kind": "window", "window": 20} if windows else {"kind": "full"}
    positions = "relative" if windows else "sinusoidal"
    switch = "auto" if compiled else "off"
    config = check(
        {
            "data": Path("none"),
            "output": Path("none"),
            "model": preset("base", attention=attention, positions=positions, activation_dropout=0.1),
            "batch": {"tokens": tokens},
            "compile": switch,
            "graphs": switch,
            "checkpointing": "ffn" if again else "none",
        },
        TrainConfig,
    )
    torch.manual_seed(0)
    model = Transformer(config.model, VOCABULARY).to(device).train()
    engine = Engine(model, config, World(0, 1, device))
    rng = np.random.default_rng(0)
    count = tokens // length
    sizes = [SENTENCE] * (length // SENTENCE) + ([length % SENTENCE] if length % SENTENCE else [])

    def side() -> PackedSide:
        return PackedSide.pack(
            [concatenate([rng.integers(6, VOCABULARY, size - 1) for size in sizes]) for _ in range(count)]
        )

    inputs = Inputs.of(Batch(side(), side(), np.arange(count)), engine.pad_multiple)
    if device.type == "cuda":
        inputs = inputs.map(torch.Tensor.pin_memory)
    number = 0

    def update() -> None:
        nonlocal number
        number += 1
        engine.update(number, [inputs], inputs.tokens)

    return update


class Baseline(nn.Module):
    """The transformer of PyTorch's own tutorials, base size, with tied embeddings."""

    def __init__(self, longest: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 512)
        self.body = nn.Transformer(512, 8, 6, 6, 2048, 0.1, batch_first=True)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("positions", sinusoids(torch.arange(longest), 512), persistent=False)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        length = target.shape[1]
        shift_right = F.pad(target[:, :-1], (1, 0), value=BOS_ID)
        x, y = (self.dropout(self.embedding(ids) * math.sqrt(512) + self.positions) for ids in (source, shift_right))
        mask = nn.Transformer.generate_square_subsequent_mask(length, device=source.device)
        hidden = self.body(x, y, tgt_mask=mask, tgt_is_causal=True)
        logits = F.linear(hidden, self.embedding.weight)
        return F.cross_entropy(logits.flatten(0, 1), target.flatten(), label_smoothing=0.1)


def _baseline(_: str, device: torch.device, length: int, tokens: int, compiled: bool) -> Callable[[], None]:
    torch.manual_seed(0)
    model = Baseline(length).to(device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True)
    autocast = autocasting("auto", device)
    source, target = (torch.randint(6, VOCABULARY, (tokens // length, length), device=device) for _ in range(2))
    call = torch.compile(model) if compiled else model

    def update() -> None:
        with autocast():
            loss = call(source, target)
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return update
