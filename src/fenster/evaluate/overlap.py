"""How much of a test set a system may have seen in training: pairs of the same source and reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from fenster.data.text import normalise
from fenster.document import ParallelDocument

LONG = 8  # words of the source; shorter pairs ("Thank you.") are the same by chance


@dataclass(frozen=True)
class Overlap:
    pairs: int
    seen: int
    """Pairs that the training data has, too."""
    long_pairs: int
    long_seen: int
    """Of those with eight words or more."""

    def record(self) -> dict[str, int]:
        return asdict(self)

    def __str__(self) -> str:
        def share(seen: int, pairs: int) -> str:
            return f"{seen:,} of {pairs:,} ({100 * seen / pairs if pairs else 0:.1f} %)"

        return (
            f"pairs that are in the training data: {share(self.seen, self.pairs)}; "
            f"of those with {LONG} words or more {share(self.long_seen, self.long_pairs)}"
        )


def seen_segments(test: Sequence[ParallelDocument], training: Iterable[ParallelDocument]) -> npt.NDArray[np.bool_]:
    """[segments] True for those that the training data has, too. Training data are read as a stream."""
    pairs = [pair for document in test for pair in _pairs(document)]
    wanted = {pair for pair in pairs if all(pair)}
    seen = {pair for document in training for pair in _pairs(document) if pair in wanted}
    return np.array([pair in seen for pair in pairs], dtype=bool)


def overlap(test: Sequence[ParallelDocument], seen: npt.NDArray[np.bool_]) -> Overlap:
    """How many segments those are, those without text on a side left out."""
    pairs = [pair for document in test for pair in _pairs(document)]
    full = np.array([all(pair) for pair in pairs], dtype=bool)
    long = full & np.array([len(source.split(" ")) >= LONG for source, _ in pairs], dtype=bool)
    return Overlap(int(full.sum()), int((full & seen).sum()), int(long.sum()), int((long & seen).sum()))


def _pairs(document: ParallelDocument) -> Iterable[tuple[str, str]]:
    for source, target in zip(document.source.texts, document.target.texts, strict=True):
        yield normalise(source), normalise(target)
