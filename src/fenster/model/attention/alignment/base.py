"""The contract of an alignment: the source token that the window of each target token is centered on.

Positions count from 0 here; the paper's b_i is ours + 1, and i is the position of the token being *predicted*. Every
alignment is clamped to the source sequence. There are two forms, which must agree:
- `whole`: all target tokens of packed sequences at once (training, scoring);
- `begin` and `AlignmentState.advance`: one token after the other, with a state for each hypothesis (decoding).
The same function `center` gives both their values, so they cannot drift apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fenster.data.tokenizer import SEP_ID
from fenster.model.layout import Layout


@dataclass(frozen=True)
class TargetTokens:
    """Where target tokens are. Every tensor has one entry per token (or hypothesis), counted from 0."""

    sequence: Tensor  # which source sequence
    position: Tensor  # within the whole target document (the sequence, unless that is only its end)
    sentence: Tensor  # N', separators before this token
    inner: Tensor  # within its sentence
    length: Tensor | None  # I, tokens of the whole target sequence; None if it is not known yet
    sentence_length: Tensor | None  # I_n, tokens of this token's sentence; None if it is not known yet


class Alignment(ABC):
    """One way to choose b_i. `ratio` is the training data's source/target ratio."""

    needs_length = False
    """True if the whole target length must be known, so that it cannot be used in decoding."""

    def __init__(self, ratio: float = 1.0) -> None:
        self.ratio = ratio

    @abstractmethod
    def center(self, tokens: TargetTokens, source: Layout) -> Tensor:
        """[N] b - 1 for each token, before clamping."""

    def whole(self, source: Layout, target: Layout) -> Tensor:
        """[T] centers of all target tokens, lengths known."""
        starts = target.starts[target.sequence_id, target.sentence]
        tokens = TargetTokens(
            target.sequence_id,
            target.position,
            target.sentence,
            target.position - starts,
            target.lengths[target.sequence_id],
            target.starts[target.sequence_id, target.sentence + 1] - starts,
        )
        return self.clamped(tokens, source)

    def prefix(self, source: Layout, target: Layout) -> Tensor:
        """[T] centers of given target tokens while more will follow: lengths are unknown, as in decoding."""
        inner = target.position - target.starts[target.sequence_id, target.sentence]
        return self.clamped(
            TargetTokens(target.sequence_id, target.document_position, target.sentence, inner, None, None), source
        )

    @abstractmethod
    def lowest(self, position: int, start: int) -> int:
        """A lower bound of the centers of all target tokens from `position` of a document on; `start` is the first
        source token of the sentence that the first of them translates. Decoding drops what lies further back, so a
        bound that is too high gives wrong translations; 0 is always safe."""

    def clamped(self, tokens: TargetTokens, source: Layout) -> Tensor:
        center = self.center(tokens, source)
        return torch.minimum(center.clamp(min=0), source.lengths[tokens.sequence] - 1)

    def begin(
        self, source: Layout, sequence: Tensor, target: Layout | None = None, follows: Tensor | None = None
    ) -> AlignmentState:
        """The state before the first token of hypotheses that translate `source` sequences `sequence` [N].

        `target` gives the lengths if they are known (forced decoding): hypothesis n follows its sequence
        `follows[n]`, by default `sequence[n]`, one target per source.
        """
        if self.needs_length and target is None:
            raise ValueError(f"{type(self).__name__} needs the target length, so it cannot be used in decoding")
        zero = torch.zeros_like(sequence)
        return AlignmentState(
            self, source, target, sequence, sequence if follows is None else follows, zero - 1, zero, zero - 1
        )


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
        return state, self.alignment.clamped(tokens, self.source)

    def reorder(self, index: Tensor) -> AlignmentState:
        """Hypothesis n becomes what hypothesis index[n] was."""
        moved = (x[index] for x in (self.sequence, self.follows, self.position, self.sentence, self.inner))
        return AlignmentState(self.alignment, self.source, self.target, *moved)


def round_ratio(numerator: Tensor, denominator: Tensor | int) -> Tensor:
    """numerator / denominator rounded half up, in integers, so exactly."""
    return (2 * numerator + denominator) // (2 * denominator)


def round_half_up(x: Tensor) -> Tensor:
    """The same rounding of float64 numbers, where a ratio is not a fraction of token counts."""
    return torch.floor(x + 0.5).long()
