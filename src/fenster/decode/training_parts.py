"""Documents in the parts that a model is trained on, for what looks at attention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fenster.data.examples import ExampleSide, concatenate
from fenster.data.text import normalise
from fenster.document import ParallelDocument
from fenster.model.description import AnyModel

Weights: TypeAlias = npt.NDArray[np.floating[Any]]
"""Of attention, [target tokens, source tokens]."""


def training_parts(
    model: AnyModel, documents: Iterable[ParallelDocument]
) -> Iterator[tuple[ExampleSide, ExampleSide, int]]:
    """(source, target, segment that its sentence 0 would be) of what the model is trained on: sentences, blocks of
    sentences, parts. `<bod>` stands for segment -1."""
    for document in documents:
        source, target = (
            model.tokenizer.encode_each([normalise(text) for text in side.texts])
            for side in (document.source, document.target)
        )
        lengths = np.array([len(sentence) + 1 for sentence in target], dtype=np.int64)
        for span in model.description.context.blocks(lengths):
            sides = [concatenate(side[span.begin : span.end], bod=span.bod) for side in (source, target)]
            yield sides[0], sides[1], span.begin - span.bod
