"""What may be attended to: a small value that every computation understands.

`Pattern.allowed` is the definition, as a dense mask; computations that never build it must agree with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fenster.model.packed import Packed


@dataclass(frozen=True)
class Pattern:
    """Which keys each query may see. Queries only ever see keys of their own sequence.

    window: query i sees keys b_i - window … b_i + window; None means all keys. `center` holds b_i (from 0,
    within the key sequence); None means b_i = i, self-attention. causal: no key after the query's own place.
    same_sentence: only keys whose sentence index is the query's.
    """

    queries: Packed
    keys: Packed
    causal: bool = False
    window: int | None = None
    center: Tensor | None = None  # [T]
    same_sentence: bool = False

    def allowed(self) -> Tensor:
        """[T, S] bool: the meaning of all the above."""
        queries, keys = self.queries, self.keys
        mask = queries.owner[:, None] == keys.owner[None, :]
        if self.causal:
            mask &= keys.position[None, :] <= queries.position[:, None]
        if self.same_sentence:
            mask &= queries.sentence[:, None] == keys.sentence[None, :]
        if self.window is not None:
            center = queries.position if self.center is None else self.center
            mask &= (keys.position[None, :] - center[:, None]).abs() <= self.window
        return mask

    def interval(self) -> tuple[Tensor, Tensor]:
        """(first, last) rows of the packed keys that each query sees, both [T]. Windows only.

        Never empty: b_i lies within the key sequence, and causal patterns keep the query's own place.
        """
        assert self.window is not None and not self.same_sentence
        queries, keys = self.queries, self.keys
        begin, end = keys.offsets[queries.owner], keys.offsets[queries.owner + 1]
        middle = begin + (queries.position if self.center is None else self.center)
        last = middle if self.causal and self.center is None else middle + self.window
        if self.causal and self.center is not None:
            last = torch.minimum(last, begin + queries.position)
        return torch.maximum(middle - self.window, begin), torch.minimum(last, end - 1)


@dataclass(frozen=True)
class Relative:
    """Learned vectors r_{i-j} for the key term q_i · r_{i-j} (Shaw et al.); self-attention only.

    `table[reach + d]` is r_d; distances beyond the reach use its ends (which a window never meets).
    """

    table: Tensor  # [2 * reach + 1, H, D]

    @property
    def reach(self) -> int:
        return (len(self.table) - 1) // 2

    def index(self, distance: Tensor) -> Tensor:
        return distance.clamp(-self.reach, self.reach) + self.reach
