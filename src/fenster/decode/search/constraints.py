"""What a search may produce: limits of lengths and counts of sentences, and each placeholder exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fenster.data.tokenizer import BOD_ID, Ids, Tokenizer
from fenster.model.layout import round_up_to_bucket


@dataclass(frozen=True)
class ControlSymbols:
    """The ids that no model is trained to produce freely: those below `end`. Of them, `placeholders` are produced
    where the source has them."""

    end: int = BOD_ID + 1
    placeholders: range = range(0)

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> ControlSymbols:
        ids = tokenizer.placeholders.values()
        return cls(tokenizer.n_symbols, range(min(ids), max(ids) + 1) if ids else range(0))

    def required(self, sentence: Ids) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """[P] True for the placeholders of a source sentence."""
        wanted = np.zeros(len(self.placeholders), dtype=np.bool_)
        inside = np.asarray(sentence, dtype=np.int64) - self.placeholders.start
        wanted[inside[(inside >= 0) & (inside < len(wanted))]] = True
        return wanted


@dataclass(frozen=True)
class LengthConstraints:
    """The limits of one search."""

    max_tokens: tuple[int, ...]
    """Most tokens of each sentence to come, end symbol not counted; a sentence that reaches it is ended by force."""
    min_tokens: int = 0
    """Fewest tokens of a sentence."""
    forced_count: bool = True
    """Exactly as many sentences as `max_tokens` has: no `<eos>` before the last, no `<sep>` in it. Otherwise `<eos>`
    may come at any time, and sentences beyond the last of `max_tokens` share its limit."""
    stop_at_separator: bool = False
    """Stop at the first end symbol, `<sep>` or `<eos>`: one sentence of a document (sequential decoding)."""

    @property
    def max_steps(self) -> int:
        """No search with these limits takes more steps."""
        return sum(self.max_tokens) + len(self.max_tokens)


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
