"""What a search has produced so far, on the host: the tokens behind each hypothesis, and the finished hypotheses.

The device decides (`beam.select_candidates`); this only keeps back-pointers. Keeping them here and not beside the
caches saves the device copies of every hypothesis' tokens whenever hypotheses change places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fenster.decode.search.hypothesis import Hypothesis
from fenster.errors import nan_error

Numbers = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class StepOutput:
    """The candidates of a step, best first, and what became of them: all that the host needs to know.

    `numbers` are six columns in one tensor, so that one copy brings them to the host: for each candidate the
    hypothesis it follows, its token, whether it ends a sentence by force, which sentence, whether it ends its
    hypothesis; and, in the first K columns of the last row, the candidates that survive.
    """

    numbers: Tensor  # [6, B, C]
    logs: Tensor  # [B, C] log-probabilities of everything so far; -inf where constraints forbid a candidate

    def on_host(self, searches: int) -> HostOutput:
        """As numpy arrays, without the padding behind the first `searches` rows."""
        parents, tokens, forced, sentences, ends, survivors = self.numbers.cpu().numpy()[:, :searches]
        logs = self.logs.cpu().numpy()[:searches]
        return HostOutput(parents, tokens, forced, sentences, ends, survivors, logs)


class HostOutput(NamedTuple):
    """A `StepOutput` as numpy arrays [B, C]."""

    parents: Numbers
    tokens: Numbers
    forced: Numbers
    sentences: Numbers
    ends: Numbers
    survivors: Numbers
    logs: Floats


class _Step(NamedTuple):
    """What the surviving hypotheses of all searches have chosen, [rows, K] each."""

    parents: Numbers
    tokens: Numbers
    forced_sentence: Numbers  # the sentence that a token ends by force, or -1
    row: Numbers  # [searches] in which row a search's hypotheses are; of finished searches any


class HypothesisLog:
    """Of all searches of a batch."""

    def __init__(self, searches: int, beam: int, normalisation: float) -> None:
        self._beam, self._normalisation = beam, normalisation
        self._steps: list[_Step] = []
        self._finished: list[list[Hypothesis]] = [[] for _ in range(searches)]
        self._active = np.ones(searches, dtype=bool)
        self._search = np.arange(searches)
        """The searches that the first rows of an output belong to; further rows are padding."""

    @property
    def n_active(self) -> int:
        """Searches that are not finished."""
        return int(self._active.sum())

    def record(self, output: StepOutput) -> bool:
        """Add one step; True if any search continues. Rows of finished searches are ignored.

        An ended candidate counts only among the best `beam`."""
        search = self._search
        step = output.on_host(len(search))
        if np.isnan(step.logs[self._active[search]]).any():
            raise nan_error()
        ends = step.ends.astype(bool)
        possible = (step.logs > -np.inf) & self._active[search, None]
        forced_sentence = np.where(step.forced, step.sentences, -1)
        rows, columns = (ends & possible)[:, : self._beam].nonzero()
        if len(rows):
            at = (rows, columns)
            self._finish(search[rows], step.parents[at], step.tokens[at], forced_sentence[at], step.logs[at])
        self._active[search] &= (~ends & possible).any(1)
        full = [number for number in set(search[rows].tolist()) if len(self._finished[number]) >= self._beam]
        self._active[full] = False
        order = step.survivors[:, : self._beam]
        row = np.zeros(len(self._active), dtype=np.int64)
        row[search] = np.arange(len(search))
        parents, tokens, forced_sentence = (
            np.take_along_axis(column, order, 1) for column in (step.parents, step.tokens, forced_sentence)
        )
        self._steps.append(_Step(parents, tokens, forced_sentence, row))
        return bool(self._active.any())

    def _finish(self, search: Numbers, hypothesis: Numbers, token: Numbers, forced: Numbers, logs: Floats) -> None:
        """Some hypotheses end with a token, all [ends]: follow their back-pointers."""
        tokens, sentences = [token], [forced]
        for step in reversed(self._steps):
            row = step.row[search]
            tokens.append(step.tokens[row, hypothesis])
            sentences.append(step.forced_sentence[row, hypothesis])
            hypothesis = step.parents[row, hypothesis]
        length = len(tokens) ** self._normalisation
        ids, ended_by_force = np.stack(tokens[::-1], 1).tolist(), np.stack(sentences, 1).tolist()
        for number, logprob in enumerate(logs.tolist()):
            capped = tuple(sorted({*ended_by_force[number]} - {-1}))
            finished = Hypothesis(tuple(ids[number]), logprob / length, logprob, capped)
            self._finished[search[number]].append(finished)

    def drop_finished(self, room: int = 0) -> list[int]:
        """Drop finished searches and return the row indices to keep, in order. If fewer than `room` remain, the first
        is repeated as padding; its output is ignored."""
        keep: list[int] = self._active[self._search].nonzero()[0].tolist()
        self._search = self._search[keep]
        return keep + keep[:1] * (room - len(keep))

    def n_best(self) -> list[list[Hypothesis]]:
        """The hypotheses of each search, best first."""
        return [sorted(finished, key=lambda hyp: -hyp.score)[: self._beam] for finished in self._finished]
