"""What a search may produce: limits of lengths and counts of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from fenster.model.layout import round_up_to_bucket


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

    @classmethod
    def of(cls, constraints: Sequence[LengthConstraints], first: Tensor) -> ConstraintTensors:
        longest = max(len(limits.max_tokens) for limits in constraints)
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
        return cls(first, *(torch.tensor(column, device=first.device) for column in columns))

    def select(self, keep: Tensor) -> ConstraintTensors:
        """Only the searches `keep`, in that order."""
        return ConstraintTensors(*(getattr(self, field.name)[keep] for field in fields(self)))

    def with_static_shapes(self) -> ConstraintTensors:
        """The same in tensors whose shapes recur."""
        extra = round_up_to_bucket(self.max_tokens.shape[1]) - self.max_tokens.shape[1]
        return replace(self, max_tokens=torch.cat([self.max_tokens, self.max_tokens[:, -1:].expand(-1, extra)], 1))
