"""What a search has said so far, on the host: the tokens behind each hypothesis, and the hypotheses that ended.

Keeping it here and not beside the state saves the device copies of everything said whenever hypotheses change places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from torch import Tensor

from fenster.tokenize import EOS_ID, SEP_ID


@dataclass(frozen=True)
class Hypothesis:
    ids: tuple[int, ...]
    """New tokens, end symbols included."""
    score: float
    """Log-probability over length: what hypotheses are ranked by."""
    logprob: float
    """Sum over the new tokens."""
    capped: tuple[int, ...] = ()
    """Sentences (from 0) that were ended by force."""


@dataclass(frozen=True)
class Report:
    """The best next tokens of each lane, best first: all that the host needs to know of a step."""

    numbers: Tensor  # [4, lanes, candidates]: hypothesis it follows, token, whether it ends a full sentence, which
    logs: Tensor  # [lanes, candidates] log-probabilities of everything said with it; -inf where limits say no


class _Step(NamedTuple):
    """Candidates of one lane, or what its hypotheses have chosen."""

    parents: list[int]
    tokens: list[int]
    marks: list[int]  # the sentence that a token ends by force, or -1


class Trails:
    """Of all lanes of a search. `one` says for each whether it stops at a separator."""

    def __init__(self, one: Sequence[bool], beam: int, normalisation: float) -> None:
        self._one, self._beam, self._normalisation = one, beam, normalisation
        self._steps: list[list[_Step]] = [[] for _ in one]
        self._ended: list[list[Hypothesis]] = [[] for _ in one]
        self._going = [True] * len(one)
        self._slots: list[int | None] = list(range(len(one)))
        """The lane that each row of the next report is about; None: about nothing."""

    @property
    def going(self) -> int:
        """Lanes that are not finished."""
        return sum(self._going)

    def note(self, report: Report) -> bool:
        """One more step; whether any lane goes on. What a finished lane reports is not looked at."""
        parents, tokens, full, places = report.numbers.tolist()
        logs = report.logs.tolist()
        for slot, lane in enumerate(self._slots):
            if lane is not None and self._going[lane]:
                marks = [place if mark else -1 for place, mark in zip(places[slot], full[slot], strict=True)]
                self._note(lane, _Step(parents[slot], tokens[slot], marks), logs[slot])
        return any(self._going)

    def _note(self, lane: int, found: _Step, logs: list[float]) -> None:
        """Candidates of one lane, best first. An end counts only among the best `beam`; the hypotheses that go on are
        the best `beam` others (`beam.chosen` finds the same on the device)."""
        stops = (EOS_ID, SEP_ID) if self._one[lane] else (EOS_ID,)
        others: list[int] = []
        ends: list[int] = []
        for n, token in enumerate(found.tokens):
            (ends if token in stops else others).append(n)
        for n in ends:
            if n < self._beam and logs[n] > -inf:
                self._ended[lane].append(self._hypothesis(lane, found, n, logs[n]))
        alive = bool(others) and logs[others[0]] > -inf
        self._going[lane] = alive and len(self._ended[lane]) < self._beam
        order = (others + ends)[: self._beam]
        self._steps[lane].append(_Step(*([column[n] for n in order] for column in found)))

    def _hypothesis(self, lane: int, found: _Step, n: int, logprob: float) -> Hypothesis:
        ids, marks, at = [found.tokens[n]], {found.marks[n]}, found.parents[n]
        for step in reversed(self._steps[lane]):
            ids.append(step.tokens[at])
            marks.add(step.marks[at])
            at = step.parents[at]
        score = logprob / len(ids) ** self._normalisation
        return Hypothesis(tuple(reversed(ids)), score, logprob, tuple(sorted(marks - {-1})))

    def leave(self, room: int = 0) -> list[int]:
        """Let finished lanes leave: the rows of reports that stay, in order. If they are fewer than `room`, the first
        fills up what is left, and is then a copy that nothing is read from."""
        stay = [slot for slot, lane in enumerate(self._slots) if lane is not None and self._going[lane]]
        empty = max(0, room - len(stay))
        self._slots = [*(self._slots[slot] for slot in stay), *[None] * empty]
        return stay + stay[:1] * empty

    def best(self) -> list[list[Hypothesis]]:
        """The hypotheses of each lane, best first."""
        return [sorted(ended, key=lambda each: -each.score)[: self._beam] for ended in self._ended]
