"""Sentence decoding: each sentence alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice

from fenster.data.tokenizer import Ids
from fenster.decode.search import Hypothesis, LengthConstraints, SearchRequest
from fenster.decode.strategies.base import SentenceResult, Session, SourceDocument, Strategy


class SentenceStrategy(Strategy):
    name = "sentence"

    def begin(self, document: SourceDocument) -> SentenceSession:
        return SentenceSession(self, document)


class SentenceSession(Session):
    """Sentences are read when there is room for them, so that long documents begin at once."""

    def __init__(self, strategy: SentenceStrategy, document: SourceDocument) -> None:
        self._strategy = strategy
        sentences = (sentence.ids for sentence in document.sentences if sentence.known is None)
        self._unread = islice(enumerate(sentences), len(document.done), None)
        self._out: deque[int] = deque()

    def requests(self, room: int) -> list[SearchRequest]:
        requests = [self._request(number, sentence) for number, sentence in islice(self._unread, room)]
        self._out.extend(request.number for request in requests)
        return requests

    def _request(self, number: int, sentence: Ids) -> SearchRequest:
        limits = LengthConstraints((self._strategy.max_tokens(sentence),), min_tokens=1)
        bod = self._strategy.context.starts_with_bod(number, 0)
        return SearchRequest([sentence], (), limits, bod=bod, number=number)

    def take(self, hypotheses: Sequence[Hypothesis]) -> list[SentenceResult]:
        return [SentenceResult(self._out.popleft(), hypotheses)]
