"""Statistics of a corpus: counts, lengths, the ratio of its sides. One pass, constant memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from fenster.data.text import why_refused
from fenster.data.tokenizer import Tokenizer
from fenster.document import ParallelDocument


@dataclass
class Lengths:
    """A distribution of small integers."""

    counts: Counter[int] = field(default_factory=Counter)

    def add(self, value: int) -> None:
        self.counts[value] += 1

    @property
    def total(self) -> int:
        return sum(value * count for value, count in self.counts.items())

    def quantile(self, share: float) -> int:
        """The smallest value that at least `share` of the items do not exceed; 0 if there are none."""
        wanted, seen = share * self.counts.total(), 0
        for value in sorted(self.counts):
            seen += self.counts[value]
            if seen >= wanted:
                return value
        return 0

    def histogram(self, edges: Iterable[int]) -> list[tuple[str, int]]:
        """(range, items) for the ranges that end at `edges` (inclusive), and one above the last."""
        rows, low = [], 0
        for edge in edges:
            rows.append((f"{low}-{edge}", sum(n for value, n in self.counts.items() if low <= value <= edge)))
            low = edge + 1
        rows.append((f"{low}+", sum(n for value, n in self.counts.items() if value >= low)))
        return rows

    def summary(self) -> dict[str, float]:
        items = self.counts.total()
        return {
            "total": self.total,
            "mean": self.total / items if items else 0.0,
            "median": self.quantile(0.5),
            "p95": self.quantile(0.95),
            "longest": max(self.counts, default=0),
        }


@dataclass
class Statistics:
    """Counts of a corpus. `unit` is what a token is: words (split at spaces), or pieces of a tokenizer."""

    unit: str
    documents: int = 0
    sentences: int = 0
    empty: int = 0
    bad_text: int = 0
    document_ratio: float = 0.0
    sizes: Lengths = field(default_factory=Lengths)
    source: Lengths = field(default_factory=Lengths)
    target: Lengths = field(default_factory=Lengths)

    def add(self, document: ParallelDocument, tokenizer: Tokenizer | None) -> None:
        self.documents += 1
        self.sentences += len(document)
        self.sizes.add(len(document))
        totals = []
        for side, lengths in ((document.source, self.source), (document.target, self.target)):
            counts = _tokens(side.texts, tokenizer)
            for count in counts:
                lengths.add(count)
            totals.append(sum(counts))
        self.document_ratio += totals[0] / max(totals[1], 1)
        for source, target in zip(document.source.texts, document.target.texts, strict=True):
            self.empty += not (source and target)
            self.bad_text += why_refused(source) is not None or why_refused(target) is not None

    def summary(self) -> dict[str, Any]:
        """Everything as plain numbers, for --json."""
        return {
            "unit": self.unit,
            "documents": self.documents,
            "sentences": self.sentences,
            "empty": self.empty,
            "bad_text": self.bad_text,
            "sentences_per_document": self.sizes.summary(),
            "source": self.source.summary(),
            "target": self.target.summary(),
            "ratio": asdict(self.ratio),
        }

    @property
    def ratio(self) -> Ratio:
        return Ratio(
            self.source.total / self.target.total if self.target.total else 0.0,
            self.document_ratio / self.documents if self.documents else 0.0,
        )


@dataclass(frozen=True)
class Ratio:
    """Source over target tokens: of all tokens together, and averaged over documents."""

    micro: float
    macro: float


def _tokens(texts: list[str], tokenizer: Tokenizer | None) -> list[int]:
    if tokenizer is None:
        return [len(text.split()) for text in texts]
    return [int(length) for length in tokenizer.encode(texts)[1]]


def collect(documents: Iterable[ParallelDocument], tokenizer: Tokenizer | None = None) -> Statistics:
    statistics = Statistics("words" if tokenizer is None else "pieces")
    for document in documents:
        statistics.add(document, tokenizer)
    return statistics
