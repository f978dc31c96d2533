"""An alignment while PyTorch decodes: a state for each hypothesis, which moves on with every token."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fenster.data.tokenizer import SEP_ID
from fenster.model.attention.alignment.base import Alignment, TargetTokens
from fenster.model.layout import Layout


@dataclass(frozen=True)
class AlignmentState:
    """Alignment state of N hypotheses; immutable, `advance` and `reorder` give new ones."""

    alignment: Alignment
    source: Layout
    target: Layout | None
    sequence: Tensor  # [N] of the source
    follows: Tensor  # [N] sequence of the target, where one is given
    position: Tensor  # [N] of the token predicted last
    sentence: Tensor  # [N]
    inner: Tensor  # [N]

    @classmethod
    def begin(
        cls,
        alignment: Alignment,
        source: Layout,
        sequence: Tensor,
        target: Layout | None = None,
        follows: Tensor | None = None,
    ) -> AlignmentState:
        """Before the first token of hypotheses that translate `source` sequences `sequence` [N].

        `target` gives the lengths if they are known (forced decoding): hypothesis n follows its sequence
        `follows[n]`, by default `sequence[n]`, one target per source.
        """
        if alignment.needs_length and target is None:
            raise ValueError(f"{type(alignment).__name__} needs the target length, so it cannot be used in decoding")
        zero = torch.zeros_like(sequence)
        follows = sequence if follows is None else follows
        return cls(alignment, source, target, sequence, follows, zero - 1, zero, zero - 1)

    def advance(self, previous: Tensor) -> tuple[AlignmentState, Tensor]:
        """(state, centers [N]) for the token after `previous` [N]; BOS before the first."""
        after = previous == SEP_ID
        position = self.position + 1
        sentence = self.sentence + after
        inner = torch.where(after, 0, self.inner + 1)
        length = sentence_length = None
        if self.target is not None:
            length = self.target.lengths[self.follows]
            starts = self.target.starts
            last = starts.shape[1] - 2
            here = sentence.clamp(max=last)
            sentence_length = starts[self.follows, here + 1] - starts[self.follows, here]
        tokens = TargetTokens(self.sequence, position, sentence, inner, length, sentence_length)
        state = replace(self, position=position, sentence=sentence, inner=inner)
        center: Tensor = self.alignment.clamped(tokens, self.source)
        return state, center

    def reorder(self, index: Tensor) -> AlignmentState:
        """Hypothesis n becomes what hypothesis index[n] was."""
        moved = (x[index] for x in (self.sequence, self.follows, self.position, self.sentence, self.inner))
        return AlignmentState(self.alignment, self.source, self.target, *moved)
