"""What may be attended to: a small value that every backend understands.

`AttentionMask.allowed` is the definition, as a dense mask; backends that never build it must agree with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor

from fenster.model.layout import Layout

Value = TypeVar("Value")


@dataclass(frozen=True)
class AttentionMask:
    """Which keys each query may see. Queries only ever see keys of their own sequence.

    window: query i sees keys b_i - window … b_i + window; None means all keys. `center` holds b_i (from 0,
    within the key sequence); None means b_i = i, self-attention. causal: no key after the query's own position.
    same_sentence: only keys whose sentence index is the query's. focused: the same within the window, for the queries
    it marks, unless their window holds no such key.
    """

    queries: Layout
    keys: Layout
    causal: bool = False
    window: int | None = None
    center: Tensor | None = None  # [T]
    same_sentence: bool = False
    focused: Tensor | None = None  # [T] bool, with a window
    _cache: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.causal and self.center is not None:
            raise ValueError("causal windows are defined around the query's own position only")
        if self.window is not None:
            # No wider than any sequence: the same meaning for less work. Rounded up, so that few widths occur.
            most = max(64, 1 << (self.keys.longest - 1).bit_length())
            object.__setattr__(self, "window", min(self.window, most))

    def allowed(self) -> Tensor:
        """[T, S] bool: the meaning of all the above."""
        queries, keys = self.queries, self.keys
        mask = queries.sequence_id[:, None] == keys.sequence_id[None, :]
        if self.causal:
            mask &= keys.position[None, :] <= queries.position[:, None]
        if self.same_sentence:
            mask &= queries.sentence[:, None] == keys.sentence[None, :]
        if self.window is not None:
            center = queries.position if self.center is None else self.center
            mask &= (keys.position[None, :] - center[:, None]).abs() <= self.window
        if self.focused is not None:
            own = mask & (queries.sentence[:, None] == keys.sentence[None, :])
            mask = torch.where((self.focused & own.any(1))[:, None], own, mask)
        return mask

    def cached(self, name: str, make: Callable[[], Value]) -> Value:
        """What `make` returns, computed at the first call and kept under `name`: all layers share a mask."""
        if name not in self._cache:
            self._cache[name] = make()
        value: Value = self._cache[name]
        return value

    @property
    def interval(self) -> tuple[Tensor, Tensor]:
        """(first, last) rows of the packed keys that each query sees, both [T]. Windows only; computed once.

        Never empty: b_i is within the key sequence, and causal masks keep the query's own position.
        """
        return self.cached("interval", self._interval)

    def _interval(self) -> tuple[Tensor, Tensor]:
        assert self.window is not None and not self.same_sentence
        queries, keys = self.queries, self.keys
        begin, end = keys.offsets[queries.sequence_id], keys.offsets[queries.sequence_id + 1]
        middle = begin + (queries.position if self.center is None else self.center)
        last = torch.minimum(middle if self.causal else middle + self.window, end - 1)
        first = torch.maximum(middle - self.window, begin)
        if self.focused is None:
            return first, last
        number = queries.sentence.clamp(max=keys.starts.shape[1] - 2)
        own_first = torch.maximum(first, begin + keys.starts[queries.sequence_id, number])
        own_last = torch.minimum(last, begin + keys.starts[queries.sequence_id, number + 1] - 1)
        focused = self.focused & (own_first <= own_last)
        return torch.where(focused, own_first, first), torch.where(focused, own_last, last)

    @property
    def interval_int32(self) -> tuple[Tensor, Tensor]:
        """The interval in 32-bit integers, as the GPU kernels take it; computed once."""
        return self.cached("interval32", lambda: (self.interval[0].int(), self.interval[1].int()))

    def queries_of_key_blocks(self, size: int) -> tuple[Tensor, Tensor]:
        """(first, last) query that sees any key of each block of `size` key rows, [blocks] int32; computed once.

        The queries between need not see the block: an alignment may jump. Blocks that no query sees have last <
        first.
        """
        return self.cached(f"queries of {size} keys", lambda: self._queries_of_keys(size))

    def _queries_of_keys(self, size: int) -> tuple[Tensor, Tensor]:
        assert self.window is not None
        first, last = (row // size for row in self.interval)
        rows = torch.arange(len(first), device=first.device)
        blocks = -(-self.keys.tokens // size)
        low, high = rows.new_full((blocks,), len(rows)), rows.new_full((blocks,), -1)
        for step in range((2 * self.window) // size + 2):
            key_block = torch.minimum(first + step, last)
            low = low.scatter_reduce(0, key_block, rows, "amin")
            high = high.scatter_reduce(0, key_block, rows, "amax")
        return low.int(), high.int()


def table_rows(distance: Tensor, max_distance: int) -> Tensor:
    """Rows of a table of relative vectors for distances i - j."""
    return distance.clamp(-max_distance, max_distance) + max_distance


@dataclass(frozen=True)
class Relative:
    """Learned vectors r_{i-j} for the key term q_i · r_{i-j} (Shaw et al.); self-attention only.

    `table[max_distance + d]` is r_d; distances beyond max_distance use its ends (which a window never meets).
    """

    table: Tensor  # [2 * max_distance + 1, H, D]

    @property
    def max_distance(self) -> int:
        return (len(self.table) - 1) // 2

    def index(self, distance: Tensor) -> Tensor:
        return table_rows(distance, self.max_distance)

    def span(self, window: int) -> Tensor:
        """The vectors of distances -window … window, [2 * window + 1, H, D]."""
        if window == self.max_distance:
            return self.table
        return self.table[self.index(torch.arange(-window, window + 1, device=self.table.device))]
