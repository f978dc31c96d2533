"""Sentence decoding: each sentence alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from fenster.decode.search import Hypothesis, LengthConstraints, SearchRequest
from fenster.decode.strategies.base import SentenceResult, Session, SourceDocument, Strategy


class SentenceStrategy(Strategy):
    name = "sentence"

    def begin(self, document: SourceDocument) -> SentenceSession:
        return SentenceSession(self, document)


class SentenceSession(Session):
    def __init__(self, strategy: SentenceStrategy, document: SourceDocument) -> None:
        self._strategy, self._source = strategy, document.read()
        self._next = len(document.done)
        self._out: deque[int] = deque()

    def requests(self, room: int) -> list[SearchRequest]:
        numbers = range(self._next, min(self._next + room, len(self._source)))
        self._next = max(self._next, numbers.stop)
        self._out.extend(numbers)
        return [self._request(number) for number in numbers]

    def _request(self, number: int) -> SearchRequest:
        sentence = self._source[number]
        limits = LengthConstraints((self._strategy.max_tokens(sentence),), min_tokens=1)
        bod = self._strategy.context.starts_with_bod(number, 0)
        return SearchRequest([sentence], (), limits, bod=bod, number=number)

    def take(self, hypotheses: Sequence[Hypothesis]) -> list[SentenceResult]:
        return [SentenceResult(self._out.popleft(), hypotheses)]
