"""The contract of an alignment: the source token that the window of each target token is centered on.

Positions count from 0 here; the paper's b_i is ours + 1, and i is the position of the token being *predicted*. Every
alignment is clamped to the source sequence. There are several forms, which must agree:
- `whole`: all target tokens of packed sequences at once (training, scoring);
- `prefix`: given target tokens while more will follow;
- `AlignmentState.advance`: one token after the other, with a state for each hypothesis (decoding in PyTorch);
- `ahead`: the tokens that a search may still produce (decoding with the compiled library).
The same formula `center` gives the values of all, so they cannot drift apart. It is written for tensors and for numpy
arrays alike: indexing, arithmetic, `clip` with keywords, and the rounding functions of this module.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = Any
"""A tensor, or a numpy array, of 64-bit integers."""


class Sequences(Protocol):
    """What a formula may know of source sequences; `Layout` knows it."""

    @property
    def starts(self) -> Integers:
        """[B, N + 1] start of each sentence; beyond a sequence's last: its length."""

    @property
    def lengths(self) -> Integers:
        """[B]"""

    @property
    def document_offset(self) -> Integers | None:
        """[B] tokens of its document before a sequence; None: none."""


@dataclass(frozen=True)
class OneSequence:
    """A single sequence in numpy; its sentences start at `begins`, and the last of these is its length."""

    begins: npt.NDArray[np.integer[Any]]  # [N + 1]
    offset: int = 0

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        return self.begins.astype(np.int64)[None]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return self.begins[-1:].astype(np.int64)

    @property
    def document_offset(self) -> npt.NDArray[np.int64]:
        return np.array([self.offset], dtype=np.int64)


@dataclass(frozen=True)
class TargetTokens:
    """Where target tokens are. Each member has one entry per token (or hypothesis), counted from 0."""

    sequence: Integers  # which source sequence
    position: Integers  # within the whole target document (the sequence, unless that is only its end)
    sentence: Integers  # N', separators before this token
    inner: Integers  # within its sentence
    length: Integers | None  # I, tokens of the whole target sequence; None if it is not known yet
    sentence_length: Integers | None  # I_n, tokens of this token's sentence; None if it is not known yet


class TargetLayout(Sequences, Protocol):
    """What `whole` and `prefix` need of target sequences; `Layout` has it."""

    @property
    def sequence_id(self) -> Integers: ...

    @property
    def position(self) -> Integers: ...

    @property
    def sentence(self) -> Integers: ...

    @property
    def document_position(self) -> Integers: ...


class Alignment(ABC):
    """One way to choose b_i. `ratio` is the training data's source/target ratio."""

    needs_length = False
    """True if the whole target length must be known, so that it cannot be used in decoding."""
    by_sentence = True
    """True if a token's center depends on its sentence and its position there, False if it depends on its position in
    the document. What a center does not depend on is None in `ahead`."""

    def __init__(self, ratio: float = 1.0) -> None:
        self.ratio = ratio

    @abstractmethod
    def center(self, tokens: TargetTokens, source: Sequences) -> Integers:
        """[N] b - 1 for each token, before clamping."""

    def whole(self, source: Sequences, target: TargetLayout) -> Integers:
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

    def prefix(self, source: Sequences, target: TargetLayout) -> Integers:
        """[T] centers of given target tokens while more will follow: lengths are unknown, as in decoding."""
        inner = target.position - target.starts[target.sequence_id, target.sentence]
        return self.clamped(
            TargetTokens(target.sequence_id, target.document_position, target.sentence, inner, None, None), source
        )

    def ahead(self, source: Sequences, first: int, position: int, sentences: int, tokens: int) -> Integers:
        """Centers of tokens that a search may produce, of which the first is at `position` of the document and begins
        sentence `first`: by sentence [sentences, tokens], otherwise [1, tokens]; int32."""
        inner = np.arange(tokens)
        sequence = np.zeros_like(inner)
        if not self.by_sentence:
            here = TargetTokens(sequence, position + inner, None, None, None, None)
            return self.clamped(here, source)[None].astype(np.int32)
        made = np.empty((sentences, tokens), dtype=np.int32)
        for number in range(sentences):
            here = TargetTokens(sequence, None, np.full_like(inner, first + number), inner, None, None)
            made[number] = self.clamped(here, source)
        return made

    @abstractmethod
    def lowest(self, position: int, start: int) -> int:
        """A lower bound of the centers of all target tokens from `position` of a document on; `start` is the first
        source token of the sentence that the first of them translates. Decoding drops what lies further back, so a
        bound that is too high gives wrong translations; 0 is always safe."""

    def clamped(self, tokens: TargetTokens, source: Sequences) -> Integers:
        return self.center(tokens, source).clip(min=0).clip(max=source.lengths[tokens.sequence] - 1)


def round_ratio(numerator: Integers, denominator: Integers) -> Integers:
    """numerator / denominator rounded half up, in integers, so exactly."""
    return (2 * numerator + denominator) // (2 * denominator)


def as_float64(x: Integers) -> Any:
    return x.astype(np.float64) if isinstance(x, np.ndarray) else x.double()


def round_half_up(x: Any) -> Integers:
    """The same rounding of float64 numbers, where a ratio is not a fraction of token counts."""
    return np.floor(x + 0.5).astype(np.int64) if isinstance(x, np.ndarray) else (x + 0.5).floor().long()
