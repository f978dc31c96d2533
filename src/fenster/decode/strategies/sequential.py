"""Sequential decoding (SD): sentence by sentence, with the translations so far as a given prefix.

The source stops at the current sentence and is encoded again for each, as the paper does. If a variant's receptive
field is limited, only the end of the document is needed: sentences out of its reach are left out, which changes no
result and makes the cost of a sentence, and the size of caches, independent of its position in the document.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

import numpy as np

from fenster.data.context import estimated_lengths
from fenster.data.tokenizer import Ids
from fenster.decode.search import Hypothesis, LengthConstraints, SearchRequest, SharedContext
from fenster.decode.strategies.base import (
    SentenceResult,
    Session,
    SourceDocument,
    SourceSentence,
    Strategy,
    without_symbols,
)
from fenster.model.attention.alignment import ALIGNMENTS

_FORGOTTEN: Ids = np.zeros(0, dtype=np.int32)


@dataclass
class Prefix:
    """A document being translated: its source, and the translations so far."""

    source: list[Ids]
    target: list[Ids] = field(default_factory=list)
    source_starts: array[int] = field(default_factory=lambda: array("q", [0]))
    """Tokens before each sentence, end symbols included; of translated ones and the next."""
    target_starts: array[int] = field(default_factory=lambda: array("q", [0]))
    kept: int = 0
    """The first sentence whose tokens are kept."""

    @property
    def next(self) -> int:
        """The sentence to be translated."""
        return len(self.target)

    def add(self, translation: Ids) -> None:
        self.source_starts.append(self.source_starts[-1] + len(self.source[self.next]) + 1)
        self.target_starts.append(self.target_starts[-1] + len(translation) + 1)
        self.target.append(translation)

    def forget(self, end: int) -> None:
        """Drop the tokens of the sentences before `end`, on which no later search depends."""
        for number in range(self.kept, end):
            self.source[number] = self.target[number] = _FORGOTTEN
        self.kept = max(self.kept, end)


class SequentialStrategy(Strategy):
    name = "sequential"
    uses_history = True
    settings = ("context", "lookahead")

    def begin(self, document: SourceDocument) -> SequentialSession:
        return SequentialSession(self, document)

    @property
    def preceding(self) -> int | Literal["part", "document"]:
        """How much context is given before a sentence, as the settings and the model's training say."""
        if self.config.context != "auto":
            return self.config.context
        if self.context.preceding is not None and self.context.overlapping:
            return self.context.preceding
        return "document" if self.model.positions == "relative" else "part"

    def request(
        self, prefix: Prefix, *, first: int, bod: bool, lookahead: int = 0, whole: bool = False
    ) -> SearchRequest:
        """The search for the next sentence, with context from sentence `first` on. `whole` leaves nothing out."""
        number = prefix.next
        shift = 2 if bod else 0  # `<bod> <sep>` before the first sentence, on both sides
        start = first if whole else max(first, prefix.kept, self._oldest_needed(prefix, first, shift))
        end = min(len(prefix.source), number + 1 + lookahead)
        limits = LengthConstraints((self.max_tokens(prefix.source[number]),), min_tokens=1, stop_at_separator=True)
        before = shift if start > first else 0
        return SearchRequest(
            prefix.source[start:end],
            prefix.target[start:number],
            limits,
            bod=bod and start == first,
            source_offset=prefix.source_starts[start] - prefix.source_starts[first] + before,
            target_offset=prefix.target_starts[start] - prefix.target_starts[first] + before,
        )

    def _oldest_needed(self, prefix: Prefix, first: int, shift: int) -> int:
        """The first sentence that the next one can depend on, if the context begins with sentence `first`, `shift`
        tokens after the position that alignments count from."""
        variant = self.model.variant
        field = variant.receptive_field(self.model.encoder_layers, self.model.decoder_layers)
        if field is None:
            return 0
        alignment = ALIGNMENTS[self.config.alignment or variant.decoding_alignment or "one-to-one"](self.ratio)
        sources, targets = prefix.source_starts, prefix.target_starts
        source_origin, target_origin = sources[first] - shift, targets[first] - shift
        here = targets[-1]
        # The earliest token whose cross-attention is needed, and the earliest source token that it can look at: where
        # its alignment says, but within the source, which ends with the current sentence.
        earliest = max(target_origin, here - field.cross)
        sentence = min(max(first, _at_or_before(targets, earliest)), prefix.next)
        center = alignment.lowest(earliest - target_origin, sources[sentence] - source_origin) + source_origin
        center = min(center, sources[-1] + len(prefix.source[prefix.next]))
        oldest_source, oldest_target = center - field.source, here - field.target
        return max(0, min(_at_or_before(sources, oldest_source), _at_or_before(targets, oldest_target)))


class SequentialSession(Session):
    """Sentences are read as far as the next search needs them, so that long documents begin at once."""

    def __init__(self, strategy: SequentialStrategy, document: SourceDocument) -> None:
        self._strategy = strategy
        self._unread = iter(document.sentences)
        self._read: deque[SourceSentence] = deque()  # from the next sentence on
        self._prefix = Prefix([])  # with the sentences that have been read
        self._number = 0  # of the next sentence
        self._skip_known()
        for translation in document.done:
            self._add(translation)
        self._parts: list[int] | None = None
        self._busy = False
        self._shared = SharedContext(0)

    def _add(self, translation: Ids) -> None:
        """The translation of the next sentence."""
        gold = self._read.popleft().gold
        self._prefix.add(translation if gold is None else gold)
        self._number += 1
        self._skip_known()

    def _skip_known(self) -> None:
        self._read_ahead(1 + self._strategy.config.lookahead)
        while self._read and (known := self._read[0].known) is not None:
            self._read.popleft()
            self._prefix.add(known)
            self._read_ahead(1 + self._strategy.config.lookahead)

    def _read_ahead(self, count: int | None) -> None:
        """Until `count` sentences from the next one on have been read, or all."""
        missing = None if count is None else max(0, count - len(self._read))
        for sentence in islice(self._unread, missing):
            self._read.append(sentence)
            self._prefix.source.append(sentence.ids)

    def requests(self, room: int) -> list[SearchRequest]:
        if self._busy or not room or not self._read:
            return []
        self._busy = True
        strategy, number = self._strategy, self._prefix.next
        first = self._first(number)
        bod = strategy.context.starts_with_bod(first, number - first)
        request = strategy.request(self._prefix, first=first, bod=bod, lookahead=strategy.config.lookahead)
        self._prefix.forget(number - len(request.given))
        if self._shared.first != first:
            self._shared = SharedContext(first)
        return [replace(request, number=self._number, shared=self._shared)]

    def _first(self, number: int) -> int:
        """The first sentence of the context of sentence `number`."""
        preceding = self._strategy.preceding
        if isinstance(preceding, int):
            return max(0, number - preceding)
        if preceding == "document":
            return 0
        if self._parts is None:
            self._read_ahead(None)
            lengths = estimated_lengths(self._prefix.source, self._strategy.ratio)
            self._parts = [span.begin for span in self._strategy.context.blocks(lengths)]
        return self._parts[bisect_right(self._parts, number) - 1]

    def take(self, hypotheses: Sequence[Hypothesis]) -> list[SentenceResult]:
        number = self._number
        self._add(without_symbols(hypotheses[0]))
        self._busy = False
        return [SentenceResult(number, hypotheses)]


def _at_or_before(starts: Sequence[int], position: int) -> int:
    """The last sentence that starts at or before a position; -1 if none does."""
    return bisect_right(starts, position) - 1
