"""How much of a test set a system may have seen in training: pairs of the same source and reference."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

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


def overlap(test: Iterable[ParallelDocument], training: Iterable[ParallelDocument]) -> Overlap:
    """Training data are read as a stream."""
    pairs = [pair for document in test for pair in _pairs(document)]
    wanted = set(pairs)
    seen = {pair for document in training for pair in _pairs(document) if pair in wanted}
    long_pairs = [pair for pair in pairs if len(pair[0].split(" ")) >= LONG]
    return Overlap(
        len(pairs), sum(pair in seen for pair in pairs), len(long_pairs), sum(pair in seen for pair in long_pairs)
    )


def _pairs(document: ParallelDocument) -> Iterable[tuple[str, str]]:
    for source, target in zip(document.source.texts, document.target.texts, strict=True):
        if source and target:
            yield normalise(source), normalise(target)
