"""A search to be made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fenster.data.tokenizer import BOD_ID, BOS_ID, SEP_ID, Ids
from fenster.decode.search.constraints import LengthConstraints


@dataclass(frozen=True, eq=False)
class SharedContext:
    """What requests of one document have in common that have context from the same sentence on. While it exists,
    searchers may keep encoder states for the next of them."""

    first: int


@dataclass(frozen=True)
class SearchRequest:
    """Source sentences, the translations of the first of them, and what may come next."""

    source: Sequence[Ids]
    given: Sequence[Ids]
    constraints: LengthConstraints
    bod: bool = False
    """Begin both sides with `<bod>`."""
    banned: Sequence[int] = ()
    """Ids that may not come."""
    terms: Sequence[Sequence[tuple[int, ...]]] = ()
    """The forms of each term that must come, of a single sentence."""
    number: int = 0
    """Of the first sentence to come, among those of its document that are translated."""
    source_offset: int = 0
    """Tokens of the document that were left out before `source`, and before `given`."""
    target_offset: int = 0
    shared: SharedContext | None = None
    """None: nothing is shared."""

    @property
    def to_come(self) -> Sequence[Ids]:
        """The source sentences of the translations to come."""
        return self.source[len(self.given) : len(self.given) + len(self.constraints.max_tokens)]

    @property
    def tokens(self) -> int:
        return sum(len(sentence) + 1 for sentence in self.source)

    @property
    def prefix(self) -> list[Ids]:
        """The given sentences, `<bod>` first."""
        bod: Ids = np.array([BOD_ID], dtype=np.uint16)
        return [bod, *self.given] if self.bod else list(self.given)

    @property
    def decoder_inputs(self) -> npt.NDArray[np.int64]:
        """`<bos>`, or the end of what was left out, then the given sentences with their end symbols."""
        separator = np.array([SEP_ID])
        parts = [separator if self.target_offset else np.array([BOS_ID])]
        for sentence in self.prefix:
            parts += [sentence.astype(np.int64), separator]
        return np.concatenate(parts).astype(np.int64)
