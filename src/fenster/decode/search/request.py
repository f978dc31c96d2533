"""A search to be made, and the tensors of several at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fenster.data.examples import concatenate
from fenster.data.tokenizer import BOD_ID, BOS_ID, SEP_ID, Ids
from fenster.decode.search.constraints import LengthConstraints
from fenster.model.layout import Layout


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


@dataclass(frozen=True)
class SearchInputs:
    """What several requests are to a model."""

    source_ids: Tensor  # [S]
    source: Layout
    prefix_ids: Tensor  # [T] decoder inputs
    target: Layout  # the last position of each sequence is that of the token to come

    @classmethod
    def of(cls, requests: Sequence[SearchRequest], device: torch.device) -> SearchInputs:
        sides = [concatenate(request.source, bod=request.bod) for request in requests]
        source = Layout.from_sentence_lengths(
            [np.diff(side.starts).tolist() for side in sides], device, [request.source_offset for request in requests]
        )
        target = Layout.from_sentence_lengths(
            [[*(len(sentence) + 1 for sentence in request.prefix), 1] for request in requests],
            device,
            [request.target_offset for request in requests],
        )
        inputs = np.concatenate([part for request in requests for part in _decoder_inputs(request)])
        ids = np.concatenate([side.ids for side in sides])
        return cls(_tensor(ids, device), source, _tensor(inputs, device), target)


def _decoder_inputs(request: SearchRequest) -> list[Ids]:
    separator = np.array([SEP_ID])
    parts = [separator if request.target_offset else np.array([BOS_ID])]
    for sentence in request.prefix:
        parts += [sentence, separator]
    return parts


def _tensor(ids: Ids, device: torch.device) -> Tensor:
    return torch.from_numpy(ids.astype(np.int64)).to(device)
