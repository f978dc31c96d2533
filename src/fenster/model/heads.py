"""Multi-head attention: projections, heads, and the call of one computation. Knows no variant."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fenster.model.compute import attend
from fenster.model.compute.look import look
from fenster.model.initial import start
from fenster.model.pattern import Pattern, Relative
from fenster.model.probe import Spot
from fenster.model.product import mapped
from fenster.model.state import CrossState, SelfState, Sight


class Heads(nn.Module):
    """What self- and cross-attention share. `branches` context vectors are concatenated before the output map."""

    table: nn.Parameter | None

    def __init__(self, width: int, heads: int, branches: int, reach: int | None, compute: str) -> None:
        super().__init__()
        self.heads, self.compute = heads, compute
        self.out = nn.Linear(branches * width, width)
        start(self.out, width)
        if reach is None:
            self.table = None
        else:
            size = width // heads
            self.table = nn.Parameter(torch.randn(2 * reach + 1, heads, size) * size**-0.5)  # r_{i-j}

    def _split(self, x: Tensor) -> Tensor:
        return x.view(len(x), self.heads, x.shape[-1] // self.heads)  # [tokens, H, D]

    @property
    def relative(self) -> Relative | None:
        return None if self.table is None else Relative(self.table)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, patterns: Sequence[Pattern], spot: Spot | None) -> Tensor:
        """[T, width] from heads [·, H, D]."""
        if spot is not None:
            spot.record(q, k, patterns, self.relative)
        contexts = [attend(self.compute, q, k, v, pattern, self.relative) for pattern in patterns]
        return self._joined(contexts)

    def _look(self, q: Tensor, kv: Tensor, sight: Sight) -> Tensor:
        """One query [N, H, D] for each hypothesis against the slots of a state."""
        return self._joined(look(q, kv, sight, self.table))

    def _joined(self, contexts: list[Tensor]) -> Tensor:
        flat = [context.flatten(1) for context in contexts]
        return mapped(self.out, flat[0] if len(flat) == 1 else torch.cat(flat, -1))


class SelfHeads(Heads):
    """Self-attention: one projection to queries, keys and values."""

    def __init__(self, width: int, heads: int, branches: int, reach: int | None, compute: str) -> None:
        super().__init__(width, heads, branches, reach, compute)
        self.qkv = _projection(width, 3)

    def forward(self, x: Tensor, patterns: Sequence[Pattern], spot: Spot | None = None) -> Tensor:
        q, k, v = map(self._split, self.qkv(x).chunk(3, -1))
        return self._attend(q, k, v, patterns, spot)

    def fill(self, x: Tensor, patterns: Sequence[Pattern]) -> tuple[Tensor, Tensor]:
        """Whole sequences [tokens, width]; also their keys and values [tokens, 2, H, D]."""
        q, kv = self._apart(x)
        k, v = kv.unbind(1)
        return self._attend(q, k, v, patterns, None), kv

    def step(self, x: Tensor, layer: int, state: SelfState, sight: Sight) -> Tensor:
        """One token [N, width] for each hypothesis, put to its slot in the state."""
        q, kv = self._apart(x)
        return self._look(q, state.put(layer, kv), sight)

    def _apart(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Queries [rows, H, D], keys and values [rows, 2, H, D]."""
        rows, width = x.shape
        joined = mapped(self.qkv, x)
        q, kv = joined[:, :width], joined[:, width:]
        return self._split(q), kv.view(rows, 2, self.heads, width // self.heads)


class CrossHeads(Heads):
    """Cross-attention: queries from the target, keys and values from the source."""

    def __init__(self, width: int, heads: int, compute: str) -> None:
        super().__init__(width, heads, 1, None, compute)
        self.q = _projection(width, 1)
        self.kv = _projection(width, 2)

    def forward(self, x: Tensor, memory: Tensor, patterns: Sequence[Pattern], spot: Spot | None = None) -> Tensor:
        k, v = self.remember(memory).unbind(1)
        return self._attend(self._split(self.q(x)), k, v, patterns, spot)

    def remember(self, memory: Tensor) -> Tensor:
        """Keys and values [S, 2, H, D] of the encoded source."""
        rows, width = memory.shape
        kv: Tensor = self.kv(memory).view(rows, 2, self.heads, width // self.heads)
        return kv

    def step(self, x: Tensor, layer: int, state: CrossState, sight: Sight) -> Tensor:
        return self._look(self._split(mapped(self.q, x)), state.kv[layer], sight)


def _projection(width: int, parts: int) -> nn.Linear:
    """Several square maps in one."""
    linear = nn.Linear(width, parts * width)
    start(linear, width)
    return linear
