"""Memory of a whole training step on one document, by its length: the paper's Table 2, and ours beside it.

A step is forward, backward and Adam of the base model (15k vocabulary) on one document with as many source as target
tokens. The paper's way: float32, all weights or all gathered keys in memory, all logits at once. Ours: bfloat16
autocast, the fused kernel, chunked loss; optionally activation checkpointing. Needs a GPU.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from fenster.errors import FensterError
from fenster.model.config import Checkpointing, preset
from fenster.model.layout import Layout
from fenster.model.loss import smoothed_loss
from fenster.model.transformer import Transformer

VOCABULARY = 15_000
SENTENCE = 23  # tokens of the document's sentences


@dataclass(frozen=True)
class System:
    """One row of the table."""

    name: str
    model: dict[str, Any]
    paper: bool
    """As the paper computes it, or as we do."""
    checkpointing: Checkpointing = "none"


def _window(width: int, **more: Any) -> dict[str, Any]:
    return {"attention": {"kind": "window", "window": width}, "positions": "relative", **more}


SYSTEMS = (
    System("concat, paper's way", {"backend": "reference"}, paper=True),
    System("window w=10, paper's way", _window(10, backend="gather"), paper=True),
    System("window w=20, paper's way", _window(20, backend="gather"), paper=True),
    System("concat, ours", {}, paper=False),
    System("window w=10, ours", _window(10), paper=False),
    System("window w=20, ours", _window(20), paper=False),
    System("window w=20, ours, checkpointing", _window(20), paper=False, checkpointing="layers"),
)


@dataclass(frozen=True)
class Cell:
    """Bytes at the peak of a step, allocated and reserved, and its seconds; None where memory did not suffice."""

    allocated: int
    reserved: int
    seconds: float


def run(lengths: Sequence[int], systems: Sequence[System] = SYSTEMS) -> Iterator[tuple[System, int, Cell | None]]:
    if not torch.cuda.is_available():
        raise FensterError("this benchmark measures GPU memory, and there is no GPU here")
    for system in systems:
        for length in lengths:
            torch.cuda.empty_cache()
            try:
                yield system, length, _measure(system, length)
            except torch.OutOfMemoryError:
                yield system, length, None


def _measure(system: System, length: int) -> Cell:
    device = "cuda"
    torch.manual_seed(0)
    model = Transformer(preset("base", **system.model), VOCABULARY).to(device)
    model.checkpointing = system.checkpointing
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True)
    sentences = [SENTENCE] * (length // SENTENCE) + ([length % SENTENCE] if length % SENTENCE else [])
    source, target = (
        Layout.from_sentence_lengths([sentences], device),
        Layout.from_sentence_lengths([sentences], device),
    )
    ids, wanted = (torch.randint(6, VOCABULARY, (length,), device=device) for _ in range(2))

    def step() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=not system.paper):
            hidden = model(ids, wanted, source, target)
            if system.paper:
                loss = F.cross_entropy(model.logits(hidden), wanted, label_smoothing=0.2, reduction="sum")
            else:
                loss = smoothed_loss(hidden, model.embedding.weight, wanted, 0.2).smoothed
        torch.autograd.backward(loss / length)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    step()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    return Cell(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved(), seconds)
