"""What a trained model attends to: shares of attention on the current sentence, and the weights of a chosen one.

References are force-decoded, one document part at a time, as in training.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from fenster.data.batch import PackedSide
from fenster.data.examples import ExampleSide, concatenate
from fenster.data.text import normalise
from fenster.data.tokenizer import Ids
from fenster.document import ParallelDocument
from fenster.model.attention.probe import Probe
from fenster.model.layout import Layout
from fenster.model.model_folder import LoadedModel


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


def probed(loaded: LoadedModel, documents: Iterable[ParallelDocument], tokens: int) -> tuple[Probe, int]:
    """(attention on about the first `tokens` target tokens, how many there really were)."""
    probe, seen = Probe(), 0
    for source, target, _ in _parts(loaded, documents):
        _forward(loaded, source, target, probe)
        seen += len(target.ids)
        if seen >= tokens:
            break
    return probe, seen


def heat(loaded: LoadedModel, document: ParallelDocument, segment: int) -> Heat:
    """Of segment `segment` (from 0) of a document."""
    for source, target, first in _parts(loaded, [document]):
        if not max(first, 0) <= segment < first + target.sentences:
            continue
        probe = Probe(keep_weights=True)
        _forward(loaded, source, target, probe)
        cross = [weights_[0] for name, weights_ in probe.weights.items() if name.endswith("cross")]
        weights = torch.stack(cross).mean((0, 1))  # over layers and heads: [T, S]
        here = segment - first
        rows = weights[target.starts[here] : target.starts[here + 1]]
        seen = torch.nonzero(rows.sum(0) > 1e-3).flatten()
        begin, end = int(seen.min()), int(seen.max()) + 1
        pieces = loaded.tokenizer.pieces
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


def cross_attention(loaded: LoadedModel, source: Ids, target: Ids) -> npt.NDArray[np.float64]:
    """[target tokens, source tokens] of one sentence with its translation, without context: mean over heads and
    layers."""
    probe = Probe(keep_weights=True)
    _forward(loaded, concatenate([source]), concatenate([target]), probe)
    cross = [weights_[0] for name, weights_ in probe.weights.items() if name.endswith("cross")]
    weights = torch.stack(cross).mean((0, 1))[: len(target), : len(source)]
    return weights.double().cpu().numpy()


def shares(probe: Probe) -> list[dict[str, Any]]:
    """One line per module: its share on the current sentence and its entropy, mean and by head."""
    return [
        {
            "module": name,
            "share": float(probe.share(name).mean()),
            "entropy": float(probe.entropy(name).mean()),
            "heads": [round(value, 4) for value in probe.share(name).tolist()],
        }
        for name in probe.modules
    ]


def _parts(
    loaded: LoadedModel, documents: Iterable[ParallelDocument]
) -> Iterator[tuple[ExampleSide, ExampleSide, int]]:
    """(source, target, segment that its sentence 0 would be) of what the model is trained on: sentences, blocks of
    sentences, parts. `<bod>` stands for segment -1."""
    for document in documents:
        source, target = (
            loaded.tokenizer.encode_each([normalise(text) for text in side.texts])
            for side in (document.source, document.target)
        )
        lengths = np.array([len(sentence) + 1 for sentence in target], dtype=np.int64)
        for span in loaded.description.context.blocks(lengths):
            sides = [concatenate(side[span.begin : span.end], bod=span.bod) for side in (source, target)]
            yield sides[0], sides[1], span.begin - span.bod


def _forward(loaded: LoadedModel, source: ExampleSide, target: ExampleSide, probe: Probe) -> None:
    device = loaded.model.device
    sides = [PackedSide.pack([side]) for side in (source, target)]
    ids = [torch.from_numpy(side.ids.astype(np.int64)).to(device) for side in sides]
    with torch.inference_mode():
        loaded.model(*ids, *(Layout.of(side, device) for side in sides), probe=probe)
