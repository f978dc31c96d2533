"""Beam search on ids, over many lanes (documents) at once.

A lane is one search: a source sequence, tokens that are given, and what may come next. Lanes do not see each other:
what a lane finds does not depend on its company. Finished lanes leave the batch at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fenster.model.precision import widened
from fenster.model.transformer import DecoderState, Transformer
from fenster.tokenize import BOD_ID, BOS_ID, EOS_ID, PAD_ID, SEP_ID, UNK_ID

_NEVER = (PAD_ID, UNK_ID, BOS_ID, BOD_ID)  # no model is trained to say these


@dataclass(frozen=True)
class Limits:
    """What a lane may produce."""

    most: tuple[int, ...]
    """Most tokens of each sentence to come, end symbol not counted; a sentence that reaches it is ended by force."""
    least: int = 0
    """Fewest tokens of a sentence."""
    forced: bool = True
    """Exactly as many sentences as `most` has: no `<eos>` before the last, no `<sep>` in it. Otherwise `<eos>` may
    come at any time, and sentences beyond the last of `most` share its limit."""
    one: bool = False
    """Stop at the first end symbol, `<sep>` or `<eos>`: one sentence of a document (sequential decoding)."""


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


def search(
    model: Transformer,
    hidden: Tensor,
    state: DecoderState,
    limits: Sequence[Limits],
    *,
    beam: int = 12,
    normalisation: float = 1.0,
) -> list[list[Hypothesis]]:
    """The best hypotheses of each lane, best first, at most `beam`.

    `hidden` [lanes, width] and `state` come from `Transformer.fill`. A score is log-probability over length to the
    power `normalisation`, of the new tokens; what was given counts for neither.
    """
    return _Search(model, hidden, state, limits, beam, normalisation).run()


class _Search:
    """Rows are lane after lane, `width` hypotheses each: one at first, then `beam`."""

    def __init__(
        self,
        model: Transformer,
        hidden: Tensor,
        state: DecoderState,
        limits: Sequence[Limits],
        beam: int,
        normalisation: float,
    ) -> None:
        self.model, self.beam, self.normalisation = model, beam, normalisation
        self.hidden, self.state = hidden, state  # [rows, …]
        device, widest = hidden.device, max(len(limit.most) for limit in limits)
        self.sums = widened(hidden.new_zeros(len(limits), 1))  # [lanes, width] log-probabilities so far
        self.tokens = torch.zeros(len(limits), 0, dtype=torch.long, device=device)  # [rows, steps]
        self.capped = torch.zeros(len(limits), widest, dtype=torch.bool, device=device)  # [rows, sentences]
        # Of each lane: its number in the call, its first sentence, and its limits.
        padded = [[*limit.most, *[limit.most[-1]] * (widest - len(limit.most))] for limit in limits]
        self.lane = list(range(len(limits)))
        self.first = state.steps.sentence
        self.most = torch.tensor(padded, device=device)  # [lanes, sentences]
        self.count = torch.tensor([len(limit.most) for limit in limits], device=device)
        self.least = torch.tensor([limit.least for limit in limits], device=device)
        self.forced = torch.tensor([limit.forced for limit in limits], device=device)
        self.one = torch.tensor([limit.one for limit in limits], device=device)
        self.done: list[list[Hypothesis]] = [[] for _ in limits]

    def run(self) -> list[list[Hypothesis]]:
        while self.lane:
            self._advance()
        return [sorted(found, key=lambda hypothesis: -hypothesis.score)[: self.beam] for found in self.done]

    def _advance(self) -> None:
        """One more token for every hypothesis of every lane."""
        logs, row, token, full, sentence = self._candidates()
        ends = (token == EOS_ID) | ((token == SEP_ID) & self.one[:, None])
        # An end counts only among the best `beam`; the hypotheses that go on are the best `beam` others.
        among = torch.arange(logs.shape[1], device=logs.device) < self.beam
        finished = ends & among & (logs > -torch.inf)
        going = logs.masked_fill(ends, -torch.inf)
        # The one question that a step asks the device: in which lanes something ended, in which something goes on.
        flags = torch.stack([finished.any(-1), (going > -torch.inf).any(-1)], 1).tolist()
        if any(ended for ended, _ in flags):
            self._finish(finished, logs, row, token, full, sentence)
        stay = [n for n, lane in enumerate(self.lane) if flags[n][1] and len(self.done[lane]) < self.beam]
        keep = None
        if len(stay) < len(self.lane):
            self.lane = [self.lane[n] for n in stay]
            if not stay:
                return
            keep = torch.tensor(stay, device=logs.device)
            for name in ("first", "most", "count", "least", "forced", "one"):
                setattr(self, name, getattr(self, name)[keep])
            going, row, token, full, sentence = (x[keep] for x in (going, row, token, full, sentence))
        self.sums, order = going.topk(min(self.beam, going.shape[1]), -1)
        index, previous, full, sentence = (x.gather(1, order).flatten() for x in (row, token, full, sentence))
        self.tokens = torch.cat([self.tokens[index], previous[:, None]], 1)
        self.capped = self.capped[index]
        self.capped[torch.arange(len(index), device=index.device), sentence] |= full
        state = self.state.reorder(index, self.sums.shape[1], keep)
        self.hidden, self.state = self.model.step(previous, state)

    def _candidates(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """The best 2 * beam next tokens of each lane, best first, all [lanes, candidates]: their log-probabilities
        (-inf where limits say no), rows, tokens, whether they end a sentence by force, and which sentence that is."""
        lanes, width = self.sums.shape
        steps = self.state.steps

        def rows(x: Tensor) -> Tensor:
            return x.repeat_interleave(width, 0)

        sentence = steps.sentence - rows(self.first)
        place = sentence.clamp(max=self.most.shape[1] - 1)
        last, forced, one = sentence >= rows(self.count) - 1, rows(self.forced), rows(self.one)
        full = steps.inner >= rows(self.most).gather(1, place[:, None]).squeeze(1)
        early = (steps.inner < rows(self.least)) & ~full
        # Which end symbol may come: either where one sentence is wanted, else as the count demands. A full sentence
        # ends with the symbol that the count expects; without forced counts there is an end to surplus sentences too.
        counted = (forced | full) & ~one
        surplus = sentence >= 2 * rows(self.count)
        no_sep, no_eos = early | (counted & last) | surplus, early | (counted & ~last & ~surplus)

        logits = widened(self.model.logits(self.hidden))  # [rows, V]
        mass = logits.logsumexp(-1)
        logits[:, _NEVER] = -torch.inf
        ends = logits[:, (SEP_ID, EOS_ID)]
        logits.masked_fill_(full[:, None], -torch.inf)
        logits[:, SEP_ID] = ends[:, 0].masked_fill(no_sep, -torch.inf)
        logits[:, EOS_ID] = ends[:, 1].masked_fill(no_eos, -torch.inf)

        best, token = logits.topk(min(2 * self.beam, logits.shape[1]), -1)  # [rows, each]
        each = best.shape[1]
        totals = (best - mass[:, None]).view(lanes, width, each) + self.sums[:, :, None]
        logs, place_of = totals.flatten(1).topk(min(2 * self.beam, width * each), -1)  # [lanes, candidates]
        row = place_of // each + width * torch.arange(lanes, device=logs.device)[:, None]
        return logs, row, token.view(lanes, -1).gather(1, place_of), full[row], place[row]

    def _finish(
        self, finished: Tensor, logs: Tensor, row: Tensor, token: Tensor, full: Tensor, sentence: Tensor
    ) -> None:
        """Note the hypotheses that ended. Everything about them is fetched at once: on a GPU each question waits."""
        lane, candidate = finished.nonzero().unbind(1)
        at = row[lane, candidate]
        ids = torch.cat([self.tokens[at], token[lane, candidate][:, None]], 1)
        capped = self.capped[at]
        capped[torch.arange(len(at), device=at.device), sentence[lane, candidate]] |= full[lane, candidate]
        ended = zip(lane.tolist(), ids.tolist(), logs[lane, candidate].tolist(), capped.tolist(), strict=True)
        for number, said, logprob, marks in ended:
            forced = tuple(place for place, mark in enumerate(marks) if mark)
            score = logprob / len(said) ** self.normalisation
            self.done[self.lane[number]].append(Hypothesis(tuple(said), score, logprob, forced))
