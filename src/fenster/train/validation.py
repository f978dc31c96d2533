"""Perplexity that can be compared between systems: every sentence counts once, whatever its context.

A system with adjacent context sees a sentence in several examples; it counts where it is the current (last) one.
`<bod>` never counts. There are two figures, with the same denominators for every system: over the sentences' own
tokens, and over these plus one end symbol per sentence (`<sep>` or `<eos>`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from fenster.data.batch import Batch, Ints
from fenster.data.context import ContextConfig
from fenster.data.dataset import Split
from fenster.data.examples import ExampleIndex
from fenster.data.loader import Loader
from fenster.data.sampler import BatchConfig, Sampler
from fenster.model.attention.probe import Probe
from fenster.model.loss import token_nll
from fenster.model.transformer import Transformer
from fenster.train.distributed import World
from fenster.train.inputs import Inputs


def perplexity(nll: float) -> float:
    """exp, limited so that a useless model causes no overflow; NaN counts as the limit, too."""
    return math.exp(min(700.0, nll))


WORST = perplexity(math.inf)


@dataclass(frozen=True)
class Validation:
    perplexity: float
    """Per token of the sentences, end symbols included: what chooses the best model."""
    perplexity_inside: float
    """Per token of the sentences themselves."""
    tokens: int
    sentences: int

    def better_than(self, best: float | None) -> bool:
        """True if it is not NaN, and below the best so far."""
        return self.perplexity < (WORST if best is None else best)

    def entry(self, update: int, *, best: bool, waiting: int, **more: Any) -> dict[str, Any]:
        """As the log has it."""
        return {"kind": "valid", "update": update, **asdict(self), "best": best, "waiting": waiting, **more}


class Validator:
    """Validates any number of times on one split, sharded over processes."""

    def __init__(self, split: Split, context: ContextConfig, tokens: int, world: World) -> None:
        self._index = ExampleIndex.build(split, context)
        self._sampler = Sampler(self._index, BatchConfig(tokens=tokens), shuffle=False)
        self._last_only, self._world = context.overlapping, world

    def run(self, model: Transformer, autocast: Callable[[], torch.autocast]) -> Validation:
        sums = np.zeros(4)  # nll inside, nll of ends, tokens inside, ends
        with evaluating(model):
            for batch in Loader(self._sampler, rank=self._world.rank, ranks=self._world.ranks).epoch(0):
                inputs = Inputs.of(batch).to(self._world.device)
                with autocast():
                    hidden = model(inputs.source_ids, inputs.target_ids, inputs.source, inputs.target)
                    nll = token_nll(hidden, model.embedding.weight, inputs.target_ids).double().cpu().numpy()
                inside, ends = self._counted(batch)
                sums += nll[inside].sum(), nll[ends].sum(), inside.sum(), ends.sum()
        inner, end, tokens, sentences = self._world.sum(*sums.tolist())
        return Validation(
            perplexity((inner + end) / (tokens + sentences)),
            perplexity(inner / max(tokens, 1)),
            round(tokens),
            round(sentences),
        )

    def probe(self, model: Transformer, autocast: Callable[[], torch.autocast], tokens: int) -> Probe:
        """Attention on about the first `tokens` target tokens; one document at a time, since probes are dense."""
        probe, seen = Probe(), 0
        with evaluating(model):
            for number in range(len(self._index)):
                inputs = Inputs.of(Batch.read(self._index, np.array([number]))).to(self._world.device)
                with autocast():
                    model(inputs.source_ids, inputs.target_ids, inputs.source, inputs.target, probe=probe)
                seen += inputs.tokens
                if seen >= tokens:
                    break
        return probe

    def _counted(self, batch: Batch) -> tuple[Ints, Ints]:
        """Masks [T] of the tokens that count: inside sentences, and their ends."""
        target = batch.target
        lengths = np.diff(target.offsets)
        sentences = np.repeat(np.diff(target.start_offsets) - 1, lengths)  # of each token's sequence
        counts = target.sentence == sentences - 1
        if not self._last_only:
            counts = (target.sentence > 0) | ~np.repeat(self._index.bod[batch.numbers], lengths)
        starts = np.repeat(target.offsets[:-1], np.diff(target.start_offsets)) + target.starts
        ends = np.zeros(target.tokens, dtype=bool)
        ends[starts[starts > np.repeat(target.offsets[:-1], np.diff(target.start_offsets))] - 1] = True
        return counts & ~ends, counts & ends


@contextmanager
def evaluating(model: Transformer) -> Iterator[None]:
    """No dropout, no gradients, no compilation for the odd shapes of validation."""
    training = model.training
    model.eval()
    try:
        with torch.inference_mode(), torch.compiler.set_stance("force_eager"):
            yield
    finally:
        model.train(training)
