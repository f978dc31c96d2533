"""A search whose result must hold certain terms, each in one of its forms (grid beam search, Hokamp and Liu 2017,
with the beam shared out as by Post and Vilar 2018).

Hypotheses compete only with those that have got as far with the terms, so that none is crowded out before a term has
had its turn: the words before a term can agree with it. The source may be read in several ways at once, whose mean
log-probability counts. One sentence at a time, on the host: for the few sentences whose first translation lacks a
term.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fenster.data.tokenizer import EOS_ID, SEP_ID
from fenster.decode.search.constraints import ControlSymbols
from fenster.decode.search.hypothesis import Hypothesis
from fenster.decode.search.request import SearchRequest

Form = tuple[int, ...]
Logs = NDArray[np.floating[Any]]


class Steps(Protocol):
    """A model that takes one step after the other; each of its readings of the source has the same hypotheses."""

    def logs(self) -> Logs:
        """[readings, K, V] log-probabilities of what may come next."""

    def step(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        """The hypotheses are now those that continue hypotheses `parents` with `tokens`."""


@dataclass(frozen=True)
class _Partial:
    """A hypothesis that has not ended."""

    row: int
    """Of the decoder state that it continues from."""
    ids: tuple[int, ...] = ()
    logprob: float = 0.0
    missing: frozenset[int] = frozenset()
    """Terms that it has not begun."""
    begun: tuple[Form, ...] = ()
    """What may follow of the term that it is in the middle of."""
    after_term: bool = False
    """True if a term has just ended: the next token must not be a part of its word."""
    placeholders: frozenset[int] = frozenset()
    """Those that it still needs."""

    @property
    def bank(self) -> tuple[int, bool]:
        """Hypotheses of one bank are as far with the terms as each other."""
        return -len(self.missing), not self.begun

    @property
    def is_complete(self) -> bool:
        return not (self.missing or self.begun or self.placeholders)


class TermSearch:
    """The search for one request; `joins_word` [V] is True for pieces that continue the word before them."""

    def __init__(self, request: SearchRequest, symbols: ControlSymbols, joins_word: NDArray[np.bool_]) -> None:
        self._terms, self._joins_word = request.terms, joins_word
        self._max_tokens = request.constraints.max_tokens[0]
        wanted = np.flatnonzero(symbols.required(request.to_come[0])) + symbols.placeholders.start
        self._first = _Partial(0, missing=frozenset(range(len(self._terms))), placeholders=frozenset(wanted.tolist()))
        self._no_word = np.arange(len(joins_word)) < symbols.end
        self._no_word[list(request.banned)] = True

    def width(self, beam: int) -> int:
        """Hypotheses in each step."""
        return max(beam, 2 * (2 * len(self._terms) + 1))

    def run(self, steps: Steps, beam: int, normalisation: float) -> list[Hypothesis]:
        """Hypotheses with all terms, best first, as far as there are any."""
        width = self.width(beam)
        active, finished = [self._first], list[Hypothesis]()
        while active and len(finished) < beam:
            logs = steps.logs().mean(0)  # [K, V]
            candidates = [one for partial in active for one in self._continued(partial, logs[partial.row], width)]
            chosen = _shared_out(candidates, width)
            active = [one for one in chosen if one.ids[-1] not in (SEP_ID, EOS_ID)]
            for one in chosen:
                if one.ids[-1] in (SEP_ID, EOS_ID):
                    score = one.logprob / len(one.ids) ** normalisation
                    capped = (0,) if len(one.ids) > self._max_tokens else ()
                    finished.append(Hypothesis(one.ids, score, one.logprob, capped))
            if active:
                padded = [*active, *[active[0]] * (width - len(active))]  # so that shapes stay
                steps.step([one.row for one in padded], [one.ids[-1] for one in padded])
                active = [replace(one, row=row) for row, one in enumerate(active)]
        return sorted(finished, key=lambda one: -one.score)[:beam]

    def _continued(self, partial: _Partial, logs: Logs, width: int) -> Iterator[_Partial]:
        """Candidates for the next token of a hypothesis."""
        if partial.begun:
            yield from self._inside_term(partial, partial.begun, logs)
            return
        room = self._max_tokens - len(partial.ids)
        needed = len(partial.placeholders) + sum(min(map(len, self._terms[number])) for number in partial.missing)
        for number in partial.missing:
            started = replace(partial, missing=partial.missing - {number})
            yield from self._inside_term(started, self._terms[number], logs)
        for id in partial.placeholders:
            yield self._added(replace(partial, placeholders=partial.placeholders - {id}), id, logs)
        if partial.is_complete and partial.ids:
            yield from (self._added(partial, id, logs) for id in (SEP_ID, EOS_ID))
        if room > needed:
            allowed = np.where(self._no_word | (self._joins_word & partial.after_term), -np.inf, logs)
            best = np.argpartition(-allowed, min(width, len(allowed) - 1))[:width]
            yield from (self._added(partial, int(id), logs) for id in best if allowed[id] > -np.inf)

    def _inside_term(self, partial: _Partial, rest: Sequence[Form], logs: Logs) -> Iterator[_Partial]:
        """The next token of a term whose forms continue with `rest`. A form that ends may be the beginning of
        another: both are followed."""
        for id in dict.fromkeys(form[0] for form in rest):
            after = tuple(form[1:] for form in rest if form[0] == id)
            if () in after:
                yield replace(self._added(partial, id, logs), after_term=True)
            if longer := tuple(form for form in after if form):
                yield replace(self._added(partial, id, logs), begun=longer)

    def _added(self, partial: _Partial, id: int, logs: Logs) -> _Partial:
        logprob = partial.logprob + float(logs[id])
        return replace(partial, ids=(*partial.ids, id), logprob=logprob, begun=(), after_term=False)


def _shared_out(candidates: list[_Partial], width: int) -> list[_Partial]:
    """The best `width` candidates, with an equal share for each bank that has as many."""
    banks: dict[tuple[int, bool], list[_Partial]] = {}
    for one in sorted(candidates, key=lambda one: -one.logprob):
        banks.setdefault(one.bank, []).append(one)
    chosen: list[_Partial] = []
    for left, bank in enumerate(sorted(banks, key=lambda bank: len(banks[bank])), start=-len(banks)):
        chosen += banks[bank][: (width - len(chosen)) // -left]
    return chosen
