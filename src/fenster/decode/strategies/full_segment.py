"""Full-segment decoding (FSD): a block of sentences, or a part of the document, in one search."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from fenster.data.context import Span, estimated_lengths
from fenster.data.tokenizer import EOS_ID, SEP_ID, Ids
from fenster.decode.search import Hypothesis, LengthConstraints, SearchRequest
from fenster.decode.strategies.base import SentenceResult, Session, SourceDocument, Strategy, without_symbols
from fenster.decode.strategies.sequential import Prefix, SequentialStrategy

Sentence = tuple[int, ...]


class FullSegmentStrategy(Strategy):
    name = "full-segment"
    single_sentences = False
    settings = ("count",)

    def begin(self, document: SourceDocument) -> FullSegmentSession:
        return FullSegmentSession(self, document)

    @property
    def forced(self) -> bool:
        return self.config.count == "forced"


class FullSegmentSession(Session):
    def __init__(self, strategy: FullSegmentStrategy, document: SourceDocument) -> None:
        self._strategy, self._source = strategy, document.read()
        lengths = estimated_lengths(self._source, strategy.ratio)
        self._done = len(document.done)
        # A block that was interrupted is searched again, and only its missing sentences are taken.
        self._waiting = deque(span for span in strategy.context.blocks(lengths) if span.end > self._done)
        self._out: deque[Span | _Repair] = deque()
        self._repairs: deque[_Repair] = deque()

    def requests(self, room: int) -> list[SearchRequest]:
        requests: list[SearchRequest] = []
        while len(requests) < room and self._repairs:
            repair = self._repairs.popleft()
            self._out.append(repair)
            requests.append(repair.request())
        while len(requests) < room and self._waiting:
            span = self._waiting.popleft()
            self._out.append(span)
            requests.append(self._request(span))
        return requests

    def _request(self, span: Span) -> SearchRequest:
        source = self._source[span.begin : span.end]
        forced = self._strategy.forced
        limits = LengthConstraints(
            tuple(self._strategy.max_tokens(sentence) for sentence in source),
            min_tokens=1 if forced else 0,
            forced_count=forced,
        )
        return SearchRequest(source, (), limits, bod=span.bod, number=span.begin)

    def take(self, hypotheses: Sequence[Hypothesis]) -> list[SentenceResult]:
        searched = self._out.popleft()
        if isinstance(searched, _Repair):
            return self._new(self._repaired(searched, hypotheses))
        return self._new(self._sentences(searched, hypotheses))

    def _new(self, results: list[SentenceResult]) -> list[SentenceResult]:
        return [result for result in results if result.number >= self._done]

    def _sentences(self, span: Span, hypotheses: Sequence[Hypothesis]) -> list[SentenceResult]:
        count = span.end - span.begin
        if count == 1 and self._strategy.forced:
            return [SentenceResult(span.begin, [_only(hyp, 0, split(hyp)) for hyp in hypotheses])]
        best = hypotheses[0]
        sentences = split(best)
        misaligned = len(sentences) != count
        if misaligned and self._strategy.config.count == "repair":
            self._repairs.append(_Repair(self._strategy, self._source, span))
            return []
        sentences = fit(sentences, count)
        return [
            SentenceResult(span.begin + n, [_only(best, n, sentences)], misaligned and n == 0) for n in range(count)
        ]

    def _repaired(self, repair: _Repair, hypotheses: Sequence[Hypothesis]) -> list[SentenceResult]:
        number = repair.take(hypotheses)
        if not repair.finished:
            self._repairs.append(repair)
        return [SentenceResult(number, hypotheses, misaligned=number == repair.span.begin)]


class _Repair:
    """The sentences of a block again, one after the other, each after the translations of those before it."""

    def __init__(self, strategy: FullSegmentStrategy, source: list[Ids], span: Span) -> None:
        self.span = span
        self._sequential = SequentialStrategy(strategy.loaded, strategy.config)
        self._prefix = Prefix(source[span.begin : span.end])

    def request(self) -> SearchRequest:
        request = self._sequential.request(self._prefix, first=0, bod=self.span.bod)
        return replace(request, number=self.span.begin + self._prefix.next)

    def take(self, hypotheses: Sequence[Hypothesis]) -> int:
        """The sentence that is ready."""
        number = self.span.begin + self._prefix.next
        self._prefix.add(without_symbols(hypotheses[0]))
        return number

    @property
    def finished(self) -> bool:
        return self._prefix.next == len(self._prefix.source)


def split(hypothesis: Hypothesis) -> list[Sentence]:
    """The sentences of a hypothesis, cut at separators, without end symbols."""
    sentences: list[Sentence] = []
    begin = 0
    for position, token in enumerate(hypothesis.ids):
        if token in (SEP_ID, EOS_ID):
            sentences.append(hypothesis.ids[begin:position])
            begin = position + 1
    return sentences


def fit(sentences: list[Sentence], count: int) -> list[Sentence]:
    """Exactly `count` sentences: missing ones are empty, surplus ones are joined to the last."""
    if len(sentences) > count:
        surplus = tuple(token for sentence in sentences[count - 1 :] for token in sentence)
        return [*sentences[: count - 1], surplus]
    return sentences + [()] * (count - len(sentences))


def _only(hypothesis: Hypothesis, number: int, sentences: list[Sentence]) -> Hypothesis:
    """One sentence of a hypothesis over several; the score stays that of the whole, and of its log-probability the
    sentence has the share of its length."""
    capped = (0,) if number in hypothesis.capped else ()
    share = len(sentences[number]) / max(1, len(hypothesis.ids))
    return Hypothesis(sentences[number], hypothesis.score, hypothesis.logprob * share, capped)
