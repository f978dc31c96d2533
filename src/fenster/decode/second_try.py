"""Searches whose result looks wrong, once more: another hypothesis of the same search, or a search without context in
which every figure is protected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fenster.data.tokenizer import Tokenizer
from fenster.decode.guards import problems
from fenster.decode.plan import Piece, Planner
from fenster.decode.search import Hypothesis, LengthConstraints, Searcher, SearchRequest
from fenster.decode.strategies import Strategy
from fenster.decode.strategies.base import without_symbols
from fenster.language.protect import Placeholder, ProtectedText, protected


def visible(tokenizer: Tokenizer, hypothesis: Hypothesis) -> str:
    """The text of a hypothesis without its protected spans."""
    parts = tokenizer.decode_marked(without_symbols(hypothesis))
    return "".join(part if isinstance(part, str) else " " for part in parts)


class SecondTry:
    def __init__(self, searcher: Searcher, planner: Planner, tokenizer: Tokenizer, strategy: Strategy) -> None:
        self._searcher, self._planner, self._tokenizer, self._strategy = searcher, planner, tokenizer, strategy

    def improved(
        self,
        requests: Sequence[SearchRequest],
        pieces: Sequence[Piece | None],
        results: list[list[Hypothesis]],
    ) -> list[list[Hypothesis]]:
        """The results with a better hypothesis first, where the best looked wrong and a better one exists. Requests
        without a piece (of several sentences) stay as they are."""
        wrong: list[tuple[int, Piece]] = []
        for number, piece in enumerate(pieces):
            if piece is None or not self._problems(piece, results[number][0]):
                continue
            sound = next((one for one in results[number] if not self._problems(piece, one)), None)
            if sound is None:
                wrong.append((number, piece))
            else:
                results[number] = [sound, *(one for one in results[number] if one is not sound)]
        protected_pieces = [self._with_figures(piece) for _, piece in wrong]
        tries = [
            self._alone(requests[number], text) for (number, _), text in zip(wrong, protected_pieces, strict=True)
        ]
        found = self._searcher.search(tries) if tries else []
        for (number, piece), text, hypotheses in zip(wrong, protected_pieces, found, strict=True):
            written = [self._written(one, piece.text, text) for one in hypotheses]
            sound = next((one for one in written if not self._problems(piece, one)), None)
            if sound is not None:
                results[number] = [sound, *results[number]]
        return results

    def _problems(self, piece: Piece, hypothesis: Hypothesis) -> tuple[str, ...]:
        return problems(piece.text.visible, visible(self._tokenizer, hypothesis))

    def _with_figures(self, piece: Piece) -> ProtectedText:
        """A piece in which further figures are placeholders too, as far as there are enough of them."""
        source = piece.text.source
        spans = self._planner.protector.spans(source)
        more = protected(source, sorted([*spans, *self._planner.protector.digits(source, spans)]))
        return more[0] if len(more) == 1 and self._tokenizer.placeholders else piece.text

    def _alone(self, request: SearchRequest, text: ProtectedText) -> SearchRequest:
        """The search for one sentence without its context."""
        source = request.to_come[0]
        registers = {id: register for register, id in self._tokenizer.registers.items()}
        ids = self._planner.encode(text, registers.get(int(source[0])))
        limits = LengthConstraints((self._strategy.max_tokens(ids),), min_tokens=1, stop_at_separator=True)
        return SearchRequest([ids], (), limits, bod=self._strategy.context.starts_with_bod(0, 0))

    def _written(self, hypothesis: Hypothesis, before: ProtectedText, after: ProtectedText) -> Hypothesis:
        """A hypothesis in the placeholders of the first search: figures that were not protected there are text."""
        parts: list[str | Placeholder] = []
        numbers = {value: placeholder for placeholder, value in before.values.items()}
        for part in self._tokenizer.decode_marked(without_symbols(hypothesis)):
            known = part if isinstance(part, str) else numbers.pop(after.values[part], after.values[part])
            if isinstance(known, str) and parts and isinstance(parts[-1], str):
                parts[-1] += known
            else:
                parts.append(known)
        end = hypothesis.ids[len(without_symbols(hypothesis)) :]
        ids = (*self._tokenizer.encode_marked(tuple(parts)).tolist(), *end)
        return replace(hypothesis, ids=ids)
