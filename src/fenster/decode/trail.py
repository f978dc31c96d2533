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

from fenster.tokenize import EOS_ID, SEP_ID

Numbers = NDArray[np.int64]


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
    row: dict[int, int]


class Trails:
    """Of all lanes of a search. `one` says for each whether it stops at a separator."""

    def __init__(self, one: Sequence[bool], beam: int, normalisation: float) -> None:
        self._one, self._beam, self._normalisation = np.array(one), beam, normalisation
        self._steps: list[_Step] = []
        self._ended: list[list[Hypothesis]] = [[] for _ in one]
        self._going = dict.fromkeys(range(len(one)), True)
        self._row = {lane: lane for lane in self._going}
        """The row of the next report that is about a lane; there may be rows about nothing."""

    @property
    def going(self) -> int:
        """Lanes that are not finished."""
        return sum(self._going.values())

    def note(self, report: Report) -> bool:
        """One more step; whether any lane goes on. What a finished lane reports is not looked at.

        An end counts only among the best `beam`; the hypotheses that go on are the best `beam` others (`beam.chosen`
        finds the same on the device)."""
        parents, tokens, full, places = report.numbers.cpu().numpy()  # [rows, candidates] each
        logs = report.logs.cpu().numpy()
        one = np.zeros(len(tokens), dtype=bool)
        one[list(self._row.values())] = self._one[list(self._row)]
        stops = (tokens == EOS_ID) | ((tokens == SEP_ID) & one[:, None])
        said = logs > -np.inf
        ended, alive = (stops & said)[:, : self._beam], (~stops & said).any(1)
        marks = np.where(full, places, -1)
        for lane, row in self._row.items():
            if not self._going[lane]:
                continue
            for n in ended[row].nonzero()[0]:
                ids, forced = self._back(lane, parents[row, n])
                ids.append(int(tokens[row, n]))
                forced |= {int(marks[row, n])} - {-1}
                logprob = float(logs[row, n])
                score = logprob / len(ids) ** self._normalisation
                self._ended[lane].append(Hypothesis(tuple(ids), score, logprob, tuple(sorted(forced))))
            self._going[lane] = bool(alive[row]) and len(self._ended[lane]) < self._beam
        order = stops.argsort(1, kind="stable")[:, : self._beam]
        kept, said_now, forced_now = (np.take_along_axis(column, order, 1) for column in (parents, tokens, marks))
        self._steps.append(_Step(kept, said_now, forced_now, self._row))
        return any(self._going.values())

    def _back(self, lane: int, at: Any) -> tuple[list[int], set[int]]:
        """What hypothesis `at` of a lane has said, and the sentences that it ended by force."""
        ids, forced = [], set()
        for step in reversed(self._steps):
            row = step.row[lane]
            ids.append(int(step.tokens[row, at]))
            forced.add(int(step.marks[row, at]))
            at = step.parents[row, at]
        return ids[::-1], forced - {-1}

    def leave(self, room: int = 0) -> list[int]:
        """Let finished lanes leave: the rows of reports that stay, in order. If they are fewer than `room`, the first
        fills up what is left, and is then a copy that nothing is read from."""
        lanes = [lane for lane in self._row if self._going[lane]]
        stay = [self._row[lane] for lane in lanes]
        self._row = {lane: row for row, lane in enumerate(lanes)}
        return stay + stay[:1] * (room - len(stay))

    def best(self) -> list[list[Hypothesis]]:
        """The hypotheses of each lane, best first."""
        return [sorted(ended, key=lambda each: -each.score)[: self._beam] for ended in self._ended]
