"""Searches of every kind that strategies ask for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fenster.data.dataset import PreparedData
from fenster.decode.search import LengthConstraints, SearchRequest


def sentences(toy: PreparedData, count: int, first: int = 0) -> list[npt.NDArray[np.uint16]]:
    side = toy.split("valid").shards[0].source
    return [side.sentence(number) for number in range(first, first + count)]


def some_requests(toy: PreparedData) -> list[SearchRequest]:
    return [
        SearchRequest(sentences(toy, 1, 3), (), LengthConstraints((12,), stop_at_separator=True)),
        SearchRequest(
            sentences(toy, 3, 5),
            sentences(toy, 2, 9),
            LengthConstraints((60,), stop_at_separator=True),
            source_offset=11,
            target_offset=7,
        ),
        SearchRequest(sentences(toy, 4, 20), (), LengthConstraints((8, 9, 10, 11))),
        SearchRequest(sentences(toy, 2, 30), (), LengthConstraints((20, 20), forced_count=False)),
        SearchRequest(sentences(toy, 2, 40), (), LengthConstraints((5, 5)), bod=True),
        *(
            SearchRequest(sentences(toy, 1, n), (), LengthConstraints((2 + n % 3,), stop_at_separator=True))
            for n in range(50, 62)
        ),
    ]
