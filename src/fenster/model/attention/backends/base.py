"""The contract of an attention backend: one way to compute attention under a mask.

attend(q [T, H, D], k [S, H, D], v [S, H, D], mask, relative | None) -> [T, H, D]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from fenster.model.attention.mask import AttentionMask, Relative

Attend = Callable[[Tensor, Tensor, Tensor, AttentionMask, Relative | None], Tensor]
Available = Callable[[Tensor, AttentionMask, bool], bool]
Precompute = Callable[[Tensor, AttentionMask, bool], object]


def _always(q: Tensor, mask: AttentionMask, relative: bool) -> bool:
    return True


def everywhere(q: Tensor) -> bool:
    return True


def _nothing(q: Tensor, mask: AttentionMask, relative: bool) -> None:
    return None


@dataclass(frozen=True)
class Backend:
    attend: Attend
    masks: Literal["all", "windows", "full"] = "all"
    """Which masks it can compute: all, only those with a window, or only those without."""
    available: Available = _always
    """True if it can run for queries like `q` [·, H, D] (which may have no rows), with relative positions or not."""
    precompute: Precompute = _nothing
    """Computes and caches what it will need of a mask, so that layers can be compiled as pure functions of
    tensors."""
    requires: str = ""
    """What `available` asks for, in words."""
    in_auto: Callable[[Tensor], bool] | None = None
    """For which queries `auto` may choose it (the first in BACKENDS that is available); None for never."""

    def takes(self, mask: AttentionMask) -> bool:
        return self.masks == "all" or (self.masks == "windows") == (mask.window is not None)
