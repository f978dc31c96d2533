"""Which source tokens a target token looks at: weights of cross-attention, mean over heads and layers.

Translations are force-decoded, as in training.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np

from fenster.data.examples import ExampleSide, concatenate
from fenster.data.tokenizer import BOS_ID, Ids
from fenster.decode.training_parts import Weights, training_parts
from fenster.document import ParallelDocument
from fenster.io.native_library import required_library
from fenster.model.attention.alignment import ALIGNMENTS, OneSequence
from fenster.model.compiled.matrix import check
from fenster.model.compiled.model_folder import CompiledModel
from fenster.model.compiled.network import CompiledNetwork
from fenster.model.compiled.structures import Request, Source, int32, pointer
from fenster.model.compiled.target import TargetSequence
from fenster.model.description import AnyModel

_SEEN = 1e-3  # sum of the weights that a source token gets, if it is shown


@dataclass(frozen=True)
class Heat:
    """Cross-attention of one sentence."""

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


def heat(model: AnyModel, document: ParallelDocument, segment: int) -> Heat:
    """Of segment `segment` (from 0) of a document."""
    for source, target, first in training_parts(model, [document]):
        if not max(first, 0) <= segment < first + target.sentences:
            continue
        here = segment - first
        rows = cross_weights(model, source, target)[target.starts[here] : target.starts[here + 1]]
        (seen,) = np.nonzero(rows.sum(0) > _SEEN)
        begin, end = int(seen.min()), int(seen.max()) + 1
        pieces = model.tokenizer.pieces
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


def cross_attention(model: AnyModel, source: Ids, target: Ids) -> Weights:
    """[target tokens, source tokens] of one sentence with its translation, without context."""
    return cross_weights(model, concatenate([source]), concatenate([target]))[: len(target), : len(source)]


def cross_weights(model: AnyModel, source: ExampleSide, target: ExampleSide) -> Weights:
    """[target tokens, source tokens]"""
    if isinstance(model, CompiledModel):
        return _compiled(model.network, source, target)
    from fenster.decode.attention_shares import mean_cross_weights

    return mean_cross_weights(model, source, target)


def _compiled(network: CompiledNetwork, source: ExampleSide, target: ExampleSide) -> Weights:
    name = network.config.variant.alignment
    inputs = np.concatenate([[BOS_ID], target.ids[:-1]]).astype(np.int64)
    given = TargetSequence(inputs, target.starts.astype(np.int64))
    centers = None if name is None else ALIGNMENTS[name](network.ratio).whole(OneSequence(source.starts), given)
    structure, kept = given.structure(centers)
    network.tokens(inputs)
    ids, starts = network.tokens(source.ids), int32(source.starts)
    described = Source(pointer(ids), pointer(starts), len(ids), source.sentences, 0, len(ids), None)
    request = Request(source=described, target=structure)
    out = np.empty((len(target.ids), len(ids)), dtype=np.float32)
    call = required_library().fenster_cross_attention
    check(call(ctypes.byref(network.structure), ctypes.byref(request), network.threads, pointer(out)))
    del kept  # until here
    return out
