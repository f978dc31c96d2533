"""A search to be made, and making some at once: joined ids to encoder, prefix and beam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from weakref import WeakKeyDictionary

import numpy as np
import torch

from fenster.context import join
from fenster.decode import graph
from fenster.decode.beam import Limits
from fenster.decode.search import search
from fenster.decode.trail import Hypothesis
from fenster.errors import FensterError
from fenster.model.device import out_of_memory
from fenster.model.packed import Packed
from fenster.model.precision import Products, products
from fenster.model.transformer import Transformer
from fenster.tokenize import BOD_ID, BOS_ID, SEP_ID, Ids

_AT_ONCE: WeakKeyDictionary[Transformer, int] = WeakKeyDictionary()
"""Most searches at once of models for which memory did not suffice for more."""


@dataclass(frozen=True)
class Job:
    """Source sentences, the translations of the first of them, and what may come next."""

    source: Sequence[Ids]
    given: Sequence[Ids]
    limits: Limits
    bod: bool = False
    """Begin both sides with `<bod>`."""
    source_before: int = 0
    """Tokens of the document that were left out before `source`, and before `given`."""
    target_before: int = 0

    @property
    def tokens(self) -> int:
        return sum(len(sentence) + 1 for sentence in self.source)


def run(
    model: Transformer,
    jobs: Sequence[Job],
    *,
    beam: int,
    normalisation: float,
    alignment: str | None,
    focus: bool | None = None,
    precision: Products = "tf32",
) -> list[list[Hypothesis]]:
    """The best hypotheses of each job, best first. Jobs that do not fit into memory together are run in halves, and
    so are later ones: what a search finds does not depend on what runs beside it, but for rounding on a GPU."""
    search_some = partial(
        _run, model, beam=beam, normalisation=normalisation, alignment=alignment, focus=focus, precision=precision
    )
    size = _AT_ONCE.get(model, len(jobs))
    waiting = [jobs[first : first + size] for first in range(0, len(jobs), size)][::-1]  # the next one last
    found: list[list[Hypothesis]] = []
    while waiting:
        some = waiting.pop()
        try:
            found += search_some(some)
            continue
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
            if len(some) == 1:
                raise FensterError(
                    f"out of memory in a single search, over a source of {some[0].tokens:,} tokens",
                    fix="lower --beam, give less context (--context), or take another --device",
                ) from error
        # Here, where the error and what it held are gone.
        graph.forget(model)
        torch.cuda.empty_cache()
        _AT_ONCE[model] = half = (len(some) + 1) // 2
        waiting += [some[half:], some[:half]]
    return found


def _run(
    model: Transformer,
    jobs: Sequence[Job],
    *,
    beam: int,
    normalisation: float,
    alignment: str | None,
    focus: bool | None,
    precision: Products,
) -> list[list[Hypothesis]]:
    device = model.embedding.weight.device
    sources = [join(job.source, bod=job.bod) for job in jobs]
    source = Packed.of_sentences(
        [np.diff(side.starts).tolist() for side in sources], device, [job.source_before for job in jobs]
    )
    given = [[np.array([BOD_ID]), *job.given] if job.bod else list(job.given) for job in jobs]
    # The decoder has read what was given, and stands at the first place of the sentence to come.
    target = Packed.of_sentences(
        [[*(len(sentence) + 1 for sentence in sentences), 1] for job, sentences in zip(jobs, given, strict=True)],
        device,
        [job.target_before for job in jobs],
    )
    inputs = np.concatenate(
        [
            part
            for job, sentences in zip(jobs, given, strict=True)
            for part in (
                [SEP_ID if job.target_before else BOS_ID],
                *(part for sentence in sentences for part in (sentence, [SEP_ID])),
            )
        ]
    )
    ids = torch.from_numpy(np.concatenate([side.ids for side in sources]).astype(np.int64)).to(device)
    with torch.inference_mode(), products(precision, device):
        memory = model.encode(ids, source)
        hidden, state = model.fill(
            torch.from_numpy(inputs.astype(np.int64)).to(device),
            target,
            memory,
            source,
            None if alignment is None else model.alignment(alignment),
            focus,
        )
        limits = [job.limits for job in jobs]
        return search(model, hidden, state, limits, beam=beam, normalisation=normalisation)
