"""Forced scoring: log-probabilities of given translations. The base of contrastive evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import torch

from fenster.data.batch import PackedSide
from fenster.data.context import AdjacentContext, BaseContext, DocumentContext, SentenceContext
from fenster.data.corpora.contrapro import ContrastiveItem
from fenster.data.examples import ExampleSide, concatenate
from fenster.data.text import normalise
from fenster.errors import ConfigError, nan_error
from fenster.model.layout import Layout
from fenster.model.loss import token_nll
from fenster.model.model_folder import LoadedModel
from fenster.model.ops.precision import matmul_precision

TOKENS_AT_ONCE = 4000  # target tokens: bounds memory
_ITEMS_AT_ONCE = 64  # contrastive items between two reports of progress
_WHOLE: dict[str, BaseContext] = {"document": DocumentContext(limit=None), "sentence": SentenceContext()}


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
    loaded: LoadedModel,
    documents: Sequence[tuple[Sequence[str], Sequence[str]]],
    *,
    alignment: str | None = None,
    bod: bool | Sequence[bool] = False,
    tokens: int = TOKENS_AT_ONCE,
) -> list[Scores]:
    """Scores of (source sentences, target sentences), each a sequence of its own with all its context.

    `alignment` is that of training unless given; `bod` begins both sides with `<bod>`, of all or of each; `tokens`
    is how many target tokens are computed at a time.
    """
    if alignment is not None and loaded.model.variant.alignment is None:
        raise ConfigError("alignment applies only to window attention", fix="leave it out")
    on = [bod] * len(documents) if isinstance(bod, bool) else list(bod)
    sides = []
    for (source, target), with_bod in zip(documents, on, strict=True):
        if len(source) != len(target) or not source:
            raise ValueError(
                f"{len(source)} source and {len(target)} target sentences; both must be the same, and not 0"
            )
        sides.append(
            [
                concatenate(loaded.tokenizer.encode_each([normalise(t) for t in side]), bod=with_bod)
                for side in (source, target)
            ]
        )
    scores: list[Scores] = []
    first = 0
    while first < len(sides):
        end, budget = first, tokens
        while end < len(sides) and (end == first or len(sides[end][1].ids) <= budget):
            budget -= len(sides[end][1].ids)
            end += 1
        scores += _batch(loaded, sides[first:end], alignment, on[first:end])
        first = end
    return scores


def score_in_context(
    loaded: LoadedModel,
    source: Sequence[str],
    target: Sequence[str],
    context: Literal["auto", "document", "sentence"] | int = "auto",
    *,
    alignment: str | None = None,
) -> list[tuple[float, ...]]:
    """Log-probabilities of each sentence of a document (of each token, the end symbol last). `auto` gives the context
    of the model's training: none, k sentences, or the rest of a part. A number: that many preceding sentences."""
    trained = loaded.description.context
    lengths = [len(ids) + 1 for ids in loaded.tokenizer.encode_each([normalise(text) for text in target])]
    shown: BaseContext = trained if context == "auto" else _shown(context)
    spans = list(shown.spans(np.array(lengths, dtype=np.int64)))
    pairs = [(source[span.first : span.end], target[span.first : span.end]) for span in spans]
    bod = [trained.starts_with_bod(span.first, span.begin - span.first) for span in spans]
    scores = score(loaded, pairs, alignment=alignment, bod=bod)
    return [
        tokens
        for span, scored in zip(spans, scores, strict=True)
        for tokens in scored.tokens[span.begin - span.first :]
    ]


def _shown(context: Literal["document", "sentence"] | int) -> BaseContext:
    if isinstance(context, int):
        return AdjacentContext(k=context) if context else SentenceContext()
    return _WHOLE[context]


def score_items(
    loaded: LoadedModel,
    items: Sequence[ContrastiveItem],
    alignment: str | None = None,
    advance: Callable[[int], None] = lambda count: None,
) -> list[list[float]]:
    """Log-probabilities of whole sequences, gold context included: of each item the reference, then its variants."""
    context = loaded.description.context
    results: list[list[float]] = []
    for begin in range(0, len(items), _ITEMS_AT_ONCE):
        group = items[begin : begin + _ITEMS_AT_ONCE]
        sides = [(item.document.source.texts, target) for item in group for target in item.candidates]
        bod = [context.starts_with_bod(0, item.index) for item in group for _ in item.candidates]
        totals = iter([scored.total for scored in score(loaded, sides, alignment=alignment, bod=bod)])
        results += [[next(totals) for _ in item.candidates] for item in group]
        advance(len(group))
    return results


def _batch(
    loaded: LoadedModel, pairs: list[list[ExampleSide]], alignment: str | None, needs_bod: list[bool]
) -> list[Scores]:
    model = loaded.model
    device = model.device
    sides = [PackedSide.pack([pair[side] for pair in pairs]) for side in (0, 1)]
    ids = [torch.from_numpy(side.ids.astype(np.int64)).to(device) for side in sides]
    with torch.inference_mode(), matmul_precision("float32", device):
        hidden = model(
            *ids,
            *(Layout.of(side, device) for side in sides),
            alignment=None if alignment is None else model.alignment(alignment),
        )
        logs = -token_nll(hidden, model.embedding.weight, ids[1]).double().cpu().numpy()
    if np.isnan(logs).any():
        raise nan_error()
    scores, at = [], 0
    for (_, target), bod in zip(pairs, needs_bod, strict=True):
        starts = target.starts[1:] if bod else target.starts
        scores.append(Scores(tuple(tuple(logs[at + a : at + b].tolist()) for a, b in pairwise(starts))))
        at += len(target.ids)
    return scores
