"""The constraints of many searches as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.data.tokenizer import Ids
from fenster.decode.search.constraints import ControlSymbols, LengthConstraints
from fenster.model.layout import round_up_to_bucket


@dataclass(frozen=True)
class ConstraintTensors:
    """The limits of all searches of a batch, and the sentence that each of them begins with."""

    first: Tensor  # [B]
    max_tokens: Tensor  # [B, sentences]
    count: Tensor  # [B]
    min_tokens: Tensor  # [B]
    forced_count: Tensor  # [B] bool
    stop_at_separator: Tensor  # [B] bool
    required: Tensor  # [B, sentences, P] bool: placeholders that each sentence must have; P is 0 if there are none
    banned: Tensor  # [B, V] bool: ids that may not come; V is 0 if there are none

    @classmethod
    def of(
        cls,
        constraints: Sequence[LengthConstraints],
        first: Tensor,
        sources: Sequence[Sequence[Ids]] = (),
        symbols: ControlSymbols = ControlSymbols(),  # noqa: B008 - immutable
        banned: Sequence[Sequence[int]] = (),
        vocab_size: int = 0,
    ) -> ConstraintTensors:
        """`sources` are the source sentences of those to come, of each search; `banned` are ids that may not come."""
        longest = max(len(limits.max_tokens) for limits in constraints)
        required = np.zeros((len(constraints), longest, len(symbols.placeholders)), dtype=np.bool_)
        for search, sentences in enumerate(sources):
            for number, sentence in enumerate(sentences[:longest]):
                required[search, number] = symbols.required(sentence)
        if not required.any():
            required = required[:, :, :0]
        columns = (
            [
                [*limits.max_tokens, *[limits.max_tokens[-1]] * (longest - len(limits.max_tokens))]
                for limits in constraints
            ],
            [len(limits.max_tokens) for limits in constraints],
            [limits.min_tokens for limits in constraints],
            [limits.forced_count for limits in constraints],
            [limits.stop_at_separator for limits in constraints],
        )
        max_tokens, count, min_tokens, forced, stop = (
            torch.tensor(column, device=first.device) for column in columns
        )
        wanted = torch.from_numpy(required).to(first.device)
        unwanted = torch.zeros(len(constraints), vocab_size if any(map(len, banned)) else 0, dtype=torch.bool)
        for search, ids in enumerate(banned):
            unwanted[search, list(ids)] = True
        return cls(first, max_tokens, count, min_tokens, forced, stop, wanted, unwanted.to(first.device))

    def select(self, keep: Tensor) -> ConstraintTensors:
        """Only the searches `keep`, in that order."""
        return ConstraintTensors(*(getattr(self, field.name)[keep] for field in fields(self)))

    def with_static_shapes(self) -> ConstraintTensors:
        """The same in tensors whose shapes recur."""
        extra = round_up_to_bucket(self.max_tokens.shape[1]) - self.max_tokens.shape[1]
        max_tokens = torch.cat([self.max_tokens, self.max_tokens[:, -1:].expand(-1, extra)], 1)
        return replace(self, max_tokens=max_tokens, required=F.pad(self.required, (0, 0, 0, extra)))
