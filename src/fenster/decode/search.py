"""Beam search from beginning to end: step by step, or with CUDA graphs where they suit."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fenster.decode import graph
from fenster.decode.beam import Limits, Rules, advanced, chosen
from fenster.decode.trail import Hypothesis, Trails
from fenster.model.precision import widened
from fenster.model.transformer import DecoderState, Transformer


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
    trails = Trails([limit.one for limit in limits], beam, normalisation)
    sums = widened(hidden.new_zeros(len(limits), 1))
    front, report = chosen(model, hidden, state, sums, Rules.of(limits, state.steps.sentence), beam)
    going = trails.note(report)
    most = max(sum(limit.most) + len(limit.most) for limit in limits)
    if going and graph.suits(front, model, beam, most):
        graph.graphs(model).run(model, front, trails, beam)
        return trails.best()
    while going:
        if trails.going < len(front.rows):
            front = front.of_lanes(torch.tensor(trails.leave(), device=hidden.device))
        front, report = advanced(model, front, beam)
        going = trails.note(report)
    return trails.best()
