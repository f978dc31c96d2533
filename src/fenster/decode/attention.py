"""Where a trained model looks: shares of attention on the current sentence, and the weights of a chosen one.

References are force-decoded, a document part at a time, as in training.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from fenster.batch import PackedSide
from fenster.context import DocumentContext, Joined, join, split_points
from fenster.corpus.text import normalise
from fenster.document import ParallelDocument
from fenster.model.config import ModelConfig
from fenster.model.packed import Packed
from fenster.model.probe import Probe
from fenster.model.saved import Saved


@dataclass(frozen=True)
class Heat:
    """Cross-attention of one sentence, mean over heads and layers."""

    document: str
    segment: int
    source: tuple[str, ...]
    """Pieces of the part around it that get attention at all."""
    first: int
    """Where the sentence itself begins and ends among them."""
    last: int
    target: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]
    """[target, source]"""


def effective_context(config: ModelConfig) -> int | None:
    """Tokens that can reach a prediction through windows of all layers; None where attention is not limited."""
    if config.attention.kind != "window":
        return None
    window = config.attention.window
    return 2 * window * config.encoder_layers + window * config.decoder_layers


def probed(saved: Saved, documents: Iterable[ParallelDocument], tokens: int) -> tuple[Probe, int]:
    """(attention on about the first `tokens` target tokens, how many it really were)."""
    probe, seen = Probe(), 0
    for source, target, _ in _parts(saved, documents):
        _forward(saved, source, target, probe)
        seen += len(target.ids)
        if seen >= tokens:
            break
    return probe, seen


def heat(saved: Saved, document: ParallelDocument, segment: int) -> Heat:
    """Of segment `segment` (from 0) of a document."""
    for source, target, first in _parts(saved, [document]):
        if not max(first, 0) <= segment < first + target.sentences:
            continue
        probe = Probe(keep_weights=True)
        _forward(saved, source, target, probe)
        cross = [each[0] for name, each in probe.weights.items() if name.endswith("cross")]
        weights = torch.stack(cross).mean((0, 1))  # over layers and heads: [T, S]
        here = segment - first
        rows = weights[target.starts[here] : target.starts[here + 1]]
        seen = torch.nonzero(rows.sum(0) > 1e-3).flatten()
        begin, end = int(seen.min()), int(seen.max()) + 1
        pieces = saved.tokenizer.pieces
        return Heat(
            document.id,
            segment,
            tuple(pieces(source.ids[begin:end])),
            max(0, int(source.starts[here]) - begin),
            min(end, int(source.starts[here + 1])) - begin,
            tuple(pieces(target.ids[target.starts[here] : target.starts[here + 1]])),
            tuple(tuple(round(value, 4) for value in row) for row in rows[:, begin:end].tolist()),
        )
    raise IndexError(segment)


def shares(probe: Probe) -> list[dict[str, Any]]:
    """One line a module: its share on the current sentence and its entropy, mean and by head."""
    return [
        {
            "module": name,
            "share": float(probe.share(name).mean()),
            "entropy": float(probe.entropy(name).mean()),
            "heads": [round(value, 4) for value in probe.share(name).tolist()],
        }
        for name in probe.modules
    ]


def _parts(saved: Saved, documents: Iterable[ParallelDocument]) -> Iterator[tuple[Joined, Joined, int]]:
    """(source, target, segment that its sentence 0 would be) of what the model is trained on: sentences, sentences in
    context, parts. `<bod>` stands for segment -1."""
    context = saved.description.context
    for document in documents:
        sides = [
            saved.tokenizer.encode_each([normalise(text) for text in side.texts])
            for side in (document.source, document.target)
        ]
        count = len(document)
        bod = False
        if isinstance(context, DocumentContext):
            points, bod = (
                split_points(np.array([len(each) + 1 for each in sides[1]]), context.limit).tolist(),
                context.bod,
            )
        elif context.kind == "adjacent":  # <bod> is one of the first k + 1
            points, bod = [0, *range(context.k, count, context.k + 1), count], True
        else:
            points = list(range(count + 1))
        for first, last in pairwise(points):
            begin = bod and first == 0
            parts = [join(side[first:last], bod=begin) for side in sides]
            yield parts[0], parts[1], first - begin


def _forward(saved: Saved, source: Joined, target: Joined, probe: Probe) -> None:
    device = saved.model.embedding.weight.device
    sides = [PackedSide.pack([side]) for side in (source, target)]
    ids = [torch.from_numpy(side.ids.astype(np.int64)).to(device) for side in sides]
    with torch.inference_mode():
        saved.model(*ids, *(Packed.of(side, device) for side in sides), probe=probe)
