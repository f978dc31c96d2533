"""One step of beam search, over many searches at once, and the loop around it.

A search is a source sequence, tokens that are given, and what may come next. Searches are independent: the result of
one does not depend on the others in its batch.

The device goes from one `BeamState` to the next with `beam_step`, a function of tensors whose shapes need not change,
so that a CUDA graph can hold it (`cuda_graph`). The tokens are kept on the host (`log`), from a short
`StepOutput` per step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.data.tokenizer import EOS_ID, SEP_ID
from fenster.decode.search.constraints import ControlSymbols
from fenster.decode.search.pytorch.constraint_tensors import ConstraintTensors
from fenster.decode.search.pytorch.log import HypothesisLog, StepOutput
from fenster.model.decoder_state import DecoderState
from fenster.model.ops.precision import at_least_float32
from fenster.model.transformer import Transformer


@dataclass(frozen=True)
class BeamState:
    """Where a batch of searches is: K hypotheses per search, side by side, with the token that each has just chosen.

    The decoder state is that before these tokens: hypothesis [b, k] continues from its row `rows[b, k]`.
    """

    decoder: DecoderState
    rows: Tensor  # [B, K]
    previous: Tensor  # [B, K]
    sums: Tensor  # [B, K] log-probabilities so far; -inf for rows that hold no hypothesis
    used: Tensor  # [B, K, P] bool: placeholders that the current sentence has already
    constraints: ConstraintTensors
    symbols: ControlSymbols

    def select(self, keep: Tensor) -> BeamState:
        """Only the searches `keep` (or some of them more than once), in that order."""
        rows = self.rows[keep]
        decoder = self.decoder.reorder(rows.flatten(), rows.shape[1], keep)
        same = torch.arange(rows.numel(), device=rows.device).view(rows.shape)
        constraints = self.constraints.select(keep)
        return BeamState(
            decoder, same, self.previous[keep], self.sums[keep], self.used[keep], constraints, self.symbols
        )

    def with_static_shapes(self, extra: int) -> BeamState:
        """The same in tensors whose shapes recur and stay, with room for `extra` more tokens."""
        constraints = self.constraints.with_static_shapes()
        return replace(self, decoder=self.decoder.with_static_shapes(extra), constraints=constraints)


def begin(
    model: Transformer,
    hidden: Tensor,
    decoder: DecoderState,
    constraints: ConstraintTensors,
    beam: int,
    symbols: ControlSymbols = ControlSymbols(),  # noqa: B008 - immutable
) -> tuple[BeamState, StepOutput]:
    """The first step, from what `Transformer.prefill` returned: `hidden` [B, d_model]."""
    sums = at_least_float32(hidden.new_zeros(len(hidden), 1))
    used = torch.zeros_like(constraints.required[:, :1])
    rows = torch.arange(len(hidden), device=hidden.device)[:, None]
    state = BeamState(decoder, rows, rows, sums, used, constraints, symbols)
    return select_candidates(model, hidden, decoder, state, beam)


def beam_step(model: Transformer, state: BeamState, beam: int) -> tuple[BeamState, StepOutput]:
    """One more token for every hypothesis of every search."""
    decoder = state.decoder.reorder(state.rows.flatten(), state.rows.shape[1])
    hidden, decoder = model.step(state.previous.flatten(), decoder)
    return select_candidates(model, hidden, decoder, state, beam)


def run_steps(model: Transformer, state: BeamState, log: HypothesisLog, beam: int) -> None:
    """Step until no search is active."""
    while log.n_active:
        if log.n_active < len(state.rows):
            state = state.select(torch.tensor(log.drop_finished(), device=state.rows.device))
        state, output = beam_step(model, state, beam)
        log.record(output)


def select_candidates(
    model: Transformer, hidden: Tensor, decoder: DecoderState, state: BeamState, beam: int
) -> tuple[BeamState, StepOutput]:
    """The hypotheses that survive: of the best 2 * beam candidates of a search, those that do not end, at most
    `beam`. `hidden` has one row per hypothesis of `state`, and `decoder` is their state by now. The output has all
    candidates; what ended is read from it on the host."""
    sums, constraints, symbols = state.sums, state.constraints, state.symbols
    searches, n_hyps = sums.shape
    best, token, full, sentence = score_candidates(model, hidden, decoder, state, beam)
    per_hyp = best.shape[2]
    logs, at = (best + sums[:, :, None]).flatten(1).topk(min(2 * beam, n_hyps * per_hyp), -1)  # [B, C]
    parent = at // per_hyp
    token = token.flatten(1).gather(1, at)
    ends = (token == EOS_ID) | ((token == SEP_ID) & constraints.stop_at_separator[:, None])
    order = ends.int().argsort(dim=-1, stable=True)  # the best that continue; ends only to fill up
    columns = (parent, token, full.gather(1, parent), sentence.gather(1, parent), ends, order)
    output = StepOutput(torch.stack([column.long() for column in columns]), logs)

    order = order[:, :beam]
    rows = parent + torch.arange(0, searches * n_hyps, n_hyps, device=at.device)[:, None]
    sums = logs.masked_fill(ends, -torch.inf)
    rows, token, sums, parent = (x.gather(1, order) for x in (rows, token, sums, parent))
    used = _used(state.used, parent, token, symbols)
    return BeamState(decoder, rows, token, sums, used, constraints, symbols), output


def _used(used: Tensor, parent: Tensor, token: Tensor, symbols: ControlSymbols) -> Tensor:
    """Placeholders that the current sentence of each surviving hypothesis has, [B, K, P]."""
    count = used.shape[2]
    if not count:
        return used.new_zeros(*token.shape, 0)
    placeholders = torch.arange(symbols.placeholders.start, symbols.placeholders.stop, device=token.device)
    used = used.gather(1, parent[:, :, None].expand(-1, -1, count)) | (token[:, :, None] == placeholders)
    return used & (token != SEP_ID)[:, :, None]


def score_candidates(
    model: Transformer, hidden: Tensor, decoder: DecoderState, state: BeamState, beam: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """By hypothesis: log-probabilities (-inf where constraints forbid it) and ids of its best next words, of the
    placeholders and both end symbols, [B, K, candidates]; whether its sentence is full, so that it ends by force, and
    which sentence that is (surplus ones are the last), [B, K]."""
    constraints, symbols = state.constraints, state.symbols
    first, count, min_tokens, forced_count, stop_at_separator = (
        x[:, None]
        for x in (
            constraints.first,
            constraints.count,
            constraints.min_tokens,
            constraints.forced_count,
            constraints.stop_at_separator,
        )
    )
    alignment = decoder.alignment_state
    inner, sentence = alignment.inner.view(len(first), -1), alignment.sentence.view(len(first), -1) - first
    limited_by = sentence.clamp(max=constraints.max_tokens.shape[1] - 1)
    # A sentence ends when it has all its placeholders; when there is only room for those, nothing else may come.
    pending = _pending(constraints.required, limited_by, sentence < count, state.used)  # [B, K, P]
    n_pending = pending.sum(-1)
    room = constraints.max_tokens.gather(1, limited_by) - inner
    last, full = sentence >= count - 1, (room <= 0) & (n_pending == 0)
    no_word = full | ((n_pending > 0) & (room <= n_pending))
    early = ((inner < min_tokens) & ~full) | (n_pending > 0)
    # Which end symbol may come: either if one sentence is asked for, else as the count demands. A full sentence
    # ends with the symbol that the count expects; without forced counts there is an end to surplus sentences too.
    counted = (forced_count | full) & ~stop_at_separator
    surplus = sentence >= 2 * count
    no_sep, no_eos = early | (counted & last) | surplus, early | (counted & ~last & ~surplus)

    # Symbols apart from words: placeholders and what ends a sentence have rules of their own, and the others no model
    # is trained to produce.
    logs = at_least_float32(model.logits(hidden)).log_softmax(-1).view(*inner.shape, -1)  # [B, K, V]
    ends = torch.stack([logs[:, :, SEP_ID], logs[:, :, EOS_ID]], -1)
    ends = ends.masked_fill(torch.stack([no_sep, no_eos], -1), -torch.inf)
    first_id, n_placeholders = symbols.placeholders.start, pending.shape[2]
    placeholders = logs[:, :, first_id : first_id + n_placeholders].masked_fill(~pending, -torch.inf)
    logs[:, :, : symbols.end] = -torch.inf
    if constraints.banned.shape[1]:
        logs.masked_fill_(constraints.banned[:, None], -torch.inf)
    best, token = logs.topk(min(2 * beam, logs.shape[-1]), -1)
    best = torch.cat([best.masked_fill(no_word[:, :, None], -torch.inf), placeholders, ends], -1)
    ids = torch.arange(first_id, first_id + n_placeholders, device=token.device).expand(*token.shape[:2], -1)
    token = F.pad(F.pad(torch.cat([token, ids], -1), (0, 1), value=SEP_ID), (0, 1), value=EOS_ID)
    return best, token, full, torch.minimum(sentence, count - 1)


def _pending(required: Tensor, sentence: Tensor, counted: Tensor, used: Tensor) -> Tensor:
    """[B, K, P] The placeholders that the current sentence of each hypothesis still needs; none beyond the last."""
    count = required.shape[2]
    wanted = required.gather(1, sentence[:, :, None].expand(-1, -1, count))
    return wanted & ~used & counted[:, :, None]
