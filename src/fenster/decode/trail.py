"""What a search has said so far, on the host: the tokens behind each hypothesis, and the hypotheses that ended.

Keeping it here and not beside the state saves the device copies of everything said whenever hypotheses change places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fenster.errors import not_a_number
from fenster.tokenize import EOS_ID, SEP_ID

Numbers = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]


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
    """What the hypotheses of all lanes have chosen, [rows, width] each, and in which row a lane's are."""

    parents: Numbers
    tokens: Numbers
    marks: Numbers  # the sentence that a token ends by force, or -1
    row: Numbers  # [lanes]; of lanes that left before, any


class Trails:
    """Of all lanes of a search. `one` says for each whether it stops at a separator."""

    def __init__(self, one: Sequence[bool], beam: int, normalisation: float) -> None:
        self._one, self._beam, self._normalisation = np.array(one), beam, normalisation
        self._steps: list[_Step] = []
        self._ended: list[list[Hypothesis]] = [[] for _ in one]
        self._going = np.ones(len(one), dtype=bool)
        self._lane = np.arange(len(one))
        """The lanes that the first rows of a report are about; those behind them are about nothing."""

    @property
    def going(self) -> int:
        """Lanes that are not finished."""
        return int(self._going.sum())

    def note(self, report: Report) -> bool:
        """One more step; whether any lane goes on. What a finished lane reports is not looked at.

        An end counts only among the best `beam`; the hypotheses that go on are the best `beam` others (`beam.chosen`
        finds the same on the device)."""
        lane = self._lane
        parents, tokens, full, places = report.numbers.cpu().numpy()[:, : len(lane)]  # [rows, candidates] each
        logs = report.logs.cpu().numpy()[: len(lane)]
        if np.isnan(logs[self._going[lane]]).any():
            raise not_a_number()
        stops = (tokens == EOS_ID) | ((tokens == SEP_ID) & self._one[lane, None])
        said = (logs > -np.inf) & self._going[lane, None]
        marks = np.where(full, places, -1)
        rows, columns = (stops & said)[:, : self._beam].nonzero()
        if len(rows):
            ended = lane[rows], parents[rows, columns], tokens[rows, columns], marks[rows, columns]
            self._end(*ended, logs[rows, columns])
        self._going[lane] &= (~stops & said).any(1)
        self._going[[each for each in set(lane[rows].tolist()) if len(self._ended[each]) >= self._beam]] = False
        order = stops.argsort(1, kind="stable")[:, : self._beam]
        row = np.zeros(len(self._going), dtype=np.int64)
        row[lane] = np.arange(len(lane))
        kept, said_now, forced_now = (np.take_along_axis(column, order, 1) for column in (parents, tokens, marks))
        self._steps.append(_Step(kept, said_now, forced_now, row))
        return bool(self._going.any())

    def _end(self, lane: Numbers, at: Numbers, token: Numbers, mark: Numbers, logs: Floats) -> None:
        """Hypotheses `at` of lanes `lane` end with a token, all [ends]: read back what they have said."""
        said, forced = [token], [mark]
        for step in reversed(self._steps):
            row = step.row[lane]
            said.append(step.tokens[row, at])
            forced.append(step.marks[row, at])
            at = step.parents[row, at]
        length = len(said) ** self._normalisation
        ids, marks = np.stack(said[::-1], 1).tolist(), np.stack(forced, 1).tolist()
        for number, logprob in enumerate(logs.tolist()):
            capped = tuple(sorted({*marks[number]} - {-1}))
            self._ended[lane[number]].append(Hypothesis(tuple(ids[number]), logprob / length, logprob, capped))

    def leave(self, room: int = 0) -> list[int]:
        """Let finished lanes leave: the rows of reports that stay, in order. If they are fewer than `room`, the first
        fills up what is left, and is then a copy that nothing is read from."""
        stay: list[int] = self._going[self._lane].nonzero()[0].tolist()
        self._lane = self._lane[stay]
        return stay + stay[:1] * (room - len(stay))

    def best(self) -> list[list[Hypothesis]]:
        """The hypotheses of each lane, best first."""
        return [sorted(ended, key=lambda each: -each.score)[: self._beam] for ended in self._ended]
