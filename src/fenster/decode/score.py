"""Forced scoring: log-probabilities of given translations. The base of contrastive evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import torch

from fenster.batch import PackedSide
from fenster.context import Joined, begins, join, split_points
from fenster.corpus.text import normalise
from fenster.errors import ConfigError, not_a_number
from fenster.model.align import ALIGNMENTS
from fenster.model.loss import token_nll
from fenster.model.packed import Packed
from fenster.model.precision import products
from fenster.model.saved import Saved


@dataclass(frozen=True)
class Scores:
    """Log-probabilities of one document's translation."""

    tokens: tuple[tuple[float, ...], ...]
    """Of each token of each sentence, its end symbol last."""

    @property
    def sentences(self) -> tuple[float, ...]:
        return tuple(sum(sentence) for sentence in self.tokens)

    @property
    def total(self) -> float:
        return sum(self.sentences)


def score(
    saved: Saved,
    documents: Sequence[tuple[Sequence[str], Sequence[str]]],
    *,
    alignment: str | None = None,
    bod: bool | Sequence[bool] = False,
    tokens: int = 4000,
) -> list[Scores]:
    """Scores of (source sentences, target sentences), each a sequence of its own with all its context.

    `alignment` is that of training unless given; `bod` begins both sides with `<bod>`, of all or as told of
    each; `tokens` is how many target tokens are computed at a time.
    """
    if alignment is not None and alignment not in ALIGNMENTS:
        raise ConfigError(f"no alignment is called {alignment!r}", expected=", ".join(ALIGNMENTS))
    if alignment is not None and saved.model.config.attention.kind != "window":
        raise ConfigError("alignment is for window attention", fix="leave it out")
    on = [bod] * len(documents) if isinstance(bod, bool) else list(bod)
    joined = []
    for (source, target), begin in zip(documents, on, strict=True):
        if len(source) != len(target) or not source:
            raise ValueError(f"{len(source)} source and {len(target)} target sentences; as many are needed, and some")
        joined.append(
            [join(saved.tokenizer.encode_each([normalise(t) for t in side]), bod=begin) for side in (source, target)]
        )
    found: list[Scores] = []
    first = 0
    while first < len(joined):
        end, budget = first, tokens
        while end < len(joined) and (end == first or len(joined[end][1].ids) <= budget):
            budget -= len(joined[end][1].ids)
            end += 1
        found += _batch(saved, joined[first:end], alignment, on[first:end])
        first = end
    return found


def score_in_context(
    saved: Saved,
    source: Sequence[str],
    target: Sequence[str],
    context: Literal["auto", "document", "sentence"] = "auto",
    *,
    alignment: str | None = None,
) -> list[tuple[float, ...]]:
    """Log-probabilities of each sentence of a document (of each token, the end symbol last). `auto` gives the context
    of the model's training: none, k sentences, or the rest of a part."""
    trained = saved.description.context
    kind = trained.kind if context == "auto" else context
    lengths = [len(ids) + 1 for ids in saved.tokenizer.encode_each([normalise(text) for text in target])]
    if kind == "document":
        limit = trained.limit if context == "auto" and trained.kind == "document" else None
        spans = [(a, a, b) for a, b in pairwise(split_points(np.array(lengths), limit).tolist())]
    else:
        k = trained.k if kind == "adjacent" and trained.kind == "adjacent" else 0
        spans = [(max(0, number - k), number, number + 1) for number in range(len(lengths))]
    pairs = [(source[first:end], target[first:end]) for first, _, end in spans]
    bod = [begins(trained, first, begin - first) for first, begin, _ in spans]
    found = score(saved, pairs, alignment=alignment, bod=bod)
    return [
        tokens
        for (first, begin, _), each in zip(spans, found, strict=True)
        for tokens in each.tokens[begin - first :]
    ]


def _batch(saved: Saved, pairs: list[list[Joined]], alignment: str | None, begins: list[bool]) -> list[Scores]:
    model = saved.model
    device = model.embedding.weight.device
    sides = [PackedSide.pack([pair[side] for pair in pairs]) for side in (0, 1)]
    ids = [torch.from_numpy(side.ids.astype(np.int64)).to(device) for side in sides]
    with torch.inference_mode(), products("float32", device):
        hidden = model(
            *ids,
            *(Packed.of(side, device) for side in sides),
            alignment=None if alignment is None else model.alignment(alignment),
        )
        logs = -token_nll(hidden, model.embedding.weight, ids[1]).double().cpu().numpy()
    if np.isnan(logs).any():
        raise not_a_number()
    found, at = [], 0
    for (_, target), bod in zip(pairs, begins, strict=True):
        starts = target.starts[1:] if bod else target.starts
        found.append(Scores(tuple(tuple(logs[at + a : at + b].tolist()) for a, b in pairwise(starts))))
        at += len(target.ids)
    return found
