"""A second try for results that look wrong: another hypothesis of the same search, a search without context in
which every figure is protected, or one in which missing names are protected or the words of the wrong register
banned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from fenster.data.tokenizer import Tokenizer
from fenster.decode.guards import Checker, other_register
from fenster.decode.piece import Piece
from fenster.decode.plan import Planner
from fenster.decode.search import Hypothesis, LengthConstraints, Searcher, SearchRequest
from fenster.decode.strategies import Strategy
from fenster.decode.strategies.base import without_symbols
from fenster.language import REGISTERS, Register
from fenster.language.names import respelled
from fenster.language.protect import protected, spans_of
from fenster.language.protected_text import Marked, Placeholder, ProtectedText, visible

# Log-probability per token that names may cost. In newstest2015, searches for a name that has its place cost next to
# nothing. For one that has none, the search adds words until the name is forced in, which costs more than 0.5.
_WORSE = 0.3


class SecondTry:
    def __init__(
        self, searcher: Searcher, planner: Planner, tokenizer: Tokenizer, strategy: Strategy, checker: Checker
    ) -> None:
        self._searcher, self._planner, self._tokenizer, self._strategy = searcher, planner, tokenizer, strategy
        self._checker = checker

    def improved(
        self,
        requests: Sequence[SearchRequest],
        pieces: Sequence[Piece | None],
        results: list[list[Hypothesis]],
    ) -> list[list[Hypothesis]]:
        """The results with a better hypothesis first, where the best looked wrong and a better one exists. Requests
        without a piece (of several sentences) stay as they are."""
        tries: list[tuple[int, Piece, float, ProtectedText, SearchRequest]] = []
        for number, piece in enumerate(pieces):
            problems = () if piece is None else self._checker.problems(piece, results[number][0])
            if piece is None or not problems:
                continue
            if "names" in problems:
                results[number] = [self._respelled(results[number][0], piece), *results[number][1:]]
            sound = next((one for one in results[number] if not self._checker.problems(piece, one)), None)
            if sound is None:
                names = self._missing_names(piece, results[number][0])
                least = _likelihood(results[number][0]) - _WORSE if names else -math.inf
                tries.append((number, piece, least, *self._request(requests[number], piece, problems, names)))
            else:
                results[number] = [sound, *(one for one in results[number] if one is not sound)]
        again = self._searcher.search([request for *_, request in tries]) if tries else []
        for (number, piece, least, text, _), hypotheses in zip(tries, again, strict=True):
            written = [self._respelled(self._written(one, piece.text, text), piece) for one in hypotheses]
            likely = (one for one in written if _likelihood(one) >= least)
            sound = next((one for one in likely if not self._checker.problems(piece, one)), None)
            if sound is not None:
                results[number] = [sound, *results[number]]
        return results

    def _missing_names(self, piece: Piece, hypothesis: Hypothesis) -> list[str]:
        return piece.missing_names(visible(self._tokenizer.decode_marked(without_symbols(hypothesis))))

    def _respelled(self, hypothesis: Hypothesis, piece: Piece) -> Hypothesis:
        """With names as the source spells them, where the model has another spelling."""
        names = self._missing_names(piece, hypothesis)
        if not names:
            return hypothesis
        parts = self._tokenizer.decode_marked(without_symbols(hypothesis))
        spelled = (respelled(names, piece.text.visible, part) if isinstance(part, str) else part for part in parts)
        return self._with_parts(hypothesis, tuple(spelled))

    def _request(
        self, request: SearchRequest, piece: Piece, problems: Sequence[str], names: Sequence[str]
    ) -> tuple[ProtectedText, SearchRequest]:
        """The second search, and the text that it translates, in which missing `names` are placeholders. The other
        register's words are banned if that was the problem; for any but these two the context is left out."""
        banned = self._words_of[other_register(piece.register)] if "register" in problems and piece.register else ()
        if set(problems) <= {"register", "names"}:
            ours = len(request.given)
            text = piece.text.with_words(self._planner.protected_names(names))
            source = [
                *request.source[:ours],
                self._planner.reader.encode(text, piece.register, rewrites=not piece.enclosed),
                *request.source[ours + 1 :],
            ]
            return text, replace(request, source=source, banned=banned)
        text = self._with_figures(piece).with_words(self._planner.protected_names(names))
        return text, replace(self._alone(text, piece), banned=banned)

    @cached_property
    def _words_of(self) -> dict[Register, tuple[int, ...]]:
        """The pieces that are forms of address, by register."""
        counter = self._planner.counter
        assert counter is not None
        pieces = self._tokenizer.pieces(range(len(self._tokenizer)))
        words = {id: piece[1:] for id, piece in enumerate(pieces) if piece[:1] == "\u2581" and piece[1:].isalpha()}
        counts = {id: counter.counts("", f"x {word} x") for id, word in words.items()}
        return {register: tuple(id for id, one in counts.items() if one[register]) for register in REGISTERS}

    def _with_figures(self, piece: Piece) -> ProtectedText:
        """A piece in which further figures are placeholders too, as far as there are enough of them."""
        source = piece.text.source
        if not self._planner.protects:
            return piece.text
        spans = spans_of(piece.text)
        more = protected(source, sorted([*spans, *self._planner.protector.digits(source, spans)]))
        return more[0] if len(more) == 1 and self._tokenizer.placeholders else piece.text

    def _alone(self, text: ProtectedText, piece: Piece) -> SearchRequest:
        """The search for one sentence without its context."""
        ids = self._planner.reader.encode(text, piece.register, rewrites=not piece.enclosed)
        limits = LengthConstraints((self._strategy.max_tokens(ids),), min_tokens=1, stop_at_separator=True)
        return SearchRequest([ids], (), limits, bod=self._strategy.context.starts_with_bod(0, 0))

    def _written(self, hypothesis: Hypothesis, before: ProtectedText, after: ProtectedText) -> Hypothesis:
        """A hypothesis in the placeholders of the first search: what was not protected there is text."""
        parts: list[str | Placeholder] = []
        numbers = {value: placeholder for placeholder, value in before.values.items()}
        for part in after.spaced(self._tokenizer.decode_marked(without_symbols(hypothesis))):
            known = part
            if isinstance(part, Placeholder) and before.values.get(part) != after.values[part]:
                known = numbers.pop(after.values[part], after.values[part])
            if isinstance(known, str) and parts and isinstance(parts[-1], str):
                parts[-1] += known
            else:
                parts.append(known)
        return self._with_parts(hypothesis, tuple(parts))

    def _with_parts(self, hypothesis: Hypothesis, parts: Marked) -> Hypothesis:
        end = hypothesis.ids[len(without_symbols(hypothesis)) :]
        return replace(hypothesis, ids=(*self._tokenizer.encode_marked(parts).tolist(), *end))


def _likelihood(hypothesis: Hypothesis) -> float:
    """Log-probability per token."""
    return hypothesis.logprob / max(1, len(hypothesis.ids))
