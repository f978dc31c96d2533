"""One step of beam search on ids, over many lanes (documents) at once.

A lane is one search: a source sequence, tokens that are given, and what may come next. Lanes do not see each other:
what a lane finds does not depend on its company.

The device goes from one `Front` to the next with `advanced`, a function of tensors whose shapes need not change, so
that a CUDA graph can hold it (`graph`). What was said is kept on the host (`trail`), from a short `Report` a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.decode.trail import Report
from fenster.model.packed import recurring
from fenster.model.precision import widened
from fenster.model.transformer import DecoderState, Transformer
from fenster.tokenize import BOD_ID, EOS_ID, SEP_ID


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
class Rules:
    """The limits of all lanes as tensors, and the sentence that each of them begins with."""

    first: Tensor  # [lanes]
    most: Tensor  # [lanes, sentences]
    count: Tensor  # [lanes]
    least: Tensor  # [lanes]
    forced: Tensor  # [lanes] bool
    one: Tensor  # [lanes] bool

    @classmethod
    def of(cls, limits: Sequence[Limits], first: Tensor) -> Rules:
        widest = max(len(limit.most) for limit in limits)
        columns = (
            [[*limit.most, *[limit.most[-1]] * (widest - len(limit.most))] for limit in limits],
            [len(limit.most) for limit in limits],
            [limit.least for limit in limits],
            [limit.forced for limit in limits],
            [limit.one for limit in limits],
        )
        return cls(first, *(torch.tensor(column, device=first.device) for column in columns))

    def of_lanes(self, keep: Tensor) -> Rules:
        return Rules(*(getattr(self, field.name)[keep] for field in fields(self)))


@dataclass(frozen=True)
class Front:
    """Where a search stands: `width` hypotheses a lane, side by side, with the token that each has just chosen.

    The state is that before these tokens: hypothesis [lane, n] goes on from its row `rows[lane, n]`.
    """

    state: DecoderState
    rows: Tensor  # [lanes, width]
    previous: Tensor  # [lanes, width]
    sums: Tensor  # [lanes, width] log-probabilities so far; -inf for hypotheses that are none
    rules: Rules

    def of_lanes(self, keep: Tensor) -> Front:
        """Only the lanes `keep` (or some of them more than once), in that order."""
        rows = self.rows[keep]
        state = self.state.reorder(rows.flatten(), rows.shape[1], keep)
        same = torch.arange(rows.numel(), device=rows.device).view(rows.shape)
        return Front(state, same, self.previous[keep], self.sums[keep], self.rules.of_lanes(keep))

    def fixed(self, more: int) -> Front:
        """The same in tensors whose shapes recur and stay, with room for `more` tokens than before."""
        wider = self.rules.most[:, -1:].expand(-1, recurring(self.rules.most.shape[1]) - self.rules.most.shape[1])
        rules = replace(self.rules, most=torch.cat([self.rules.most, wider], 1))
        return replace(self, state=self.state.fixed(more), rules=rules)


def advanced(model: Transformer, front: Front, beam: int) -> tuple[Front, Report]:
    """One more token for every hypothesis of every lane."""
    state = front.state.reorder(front.rows.flatten(), front.rows.shape[1])
    hidden, state = model.step(front.previous.flatten(), state)
    return chosen(model, hidden, state, front.sums, front.rules, beam)


def chosen(
    model: Transformer, hidden: Tensor, state: DecoderState, sums: Tensor, rules: Rules, beam: int
) -> tuple[Front, Report]:
    """The hypotheses that go on from `hidden`, one row for each: of the best 2 * beam next tokens of a lane, those
    that are no end, at most `beam`. The report has all of these tokens; `Trails` reads from it what ended."""
    lanes, width = sums.shape
    best, token, full, sentence = _each(model, hidden, state, rules, beam)
    each = best.shape[2]
    logs, at = (best + sums[:, :, None]).flatten(1).topk(min(2 * beam, width * each), -1)  # [lanes, candidates]
    parent = at // each
    token = token.flatten(1).gather(1, at)
    report = Report(torch.stack([parent, token, full.gather(1, parent), sentence.gather(1, parent)]), logs)

    ends = (token == EOS_ID) | ((token == SEP_ID) & rules.one[:, None])
    order = ends.int().argsort(dim=-1, stable=True)[:, :beam]  # the best that go on; ends only to fill up
    rows = parent + torch.arange(0, lanes * width, width, device=at.device)[:, None]
    sums = logs.masked_fill(ends, -torch.inf)
    rows, token, sums = (x.gather(1, order) for x in (rows, token, sums))
    return Front(state, rows, token, sums, rules), report


def _each(
    model: Transformer, hidden: Tensor, state: DecoderState, rules: Rules, beam: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of each hypothesis: log-probabilities (-inf where limits say no) and ids of its best next words and both ends,
    [lanes, width, each]; whether its sentence is full, so that it ends by force, and which sentence that is (surplus
    ones are the last), [lanes, width]."""
    first, count, least, forced, one = (
        x[:, None] for x in (rules.first, rules.count, rules.least, rules.forced, rules.one)
    )
    inner, sentence = state.steps.inner.view(len(first), -1), state.steps.sentence.view(len(first), -1) - first
    place = sentence.clamp(max=rules.most.shape[1] - 1)
    last, full = sentence >= count - 1, inner >= rules.most.gather(1, place)
    early = (inner < least) & ~full
    # Which end symbol may come: either where one sentence is wanted, else as the count demands. A full sentence
    # ends with the symbol that the count expects; without forced counts there is an end to surplus sentences too.
    counted = (forced | full) & ~one
    surplus = sentence >= 2 * count
    no_sep, no_eos = early | (counted & last) | surplus, early | (counted & ~last & ~surplus)

    # Symbols, which are the ids up to `<bod>`, apart from words: what ends a sentence has rules of its own, and the
    # others no model is trained to say.
    logs = widened(model.logits(hidden)).log_softmax(-1).view(*inner.shape, -1)  # [lanes, width, V]
    ends = torch.stack([logs[:, :, SEP_ID], logs[:, :, EOS_ID]], -1)
    ends = ends.masked_fill(torch.stack([no_sep, no_eos], -1), -torch.inf)
    logs[:, :, : BOD_ID + 1] = -torch.inf
    best, token = logs.topk(min(2 * beam, logs.shape[-1]), -1)
    best = torch.cat([best.masked_fill(full[:, :, None], -torch.inf), ends], -1)
    token = F.pad(F.pad(token, (0, 1), value=SEP_ID), (0, 1), value=EOS_ID)
    return best, token, full, torch.minimum(sentence, count - 1)
