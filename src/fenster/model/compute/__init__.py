"""How attention is computed: interchangeable functions of one signature.

    compute(q [T, H, D], k [S, H, D], v [S, H, D], pattern, relative | None) -> [T, H, D]

`reference` defines what is right, for every pattern. A new way is one new file and one line in COMPUTE.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from fenster.model.compute.block import block
from fenster.model.compute.dense import dense
from fenster.model.compute.gather import gather
from fenster.model.compute.kernel import available, kernel
from fenster.model.compute.reference import reference
from fenster.model.pattern import Pattern, Relative

Compute = Callable[[Tensor, Tensor, Tensor, Pattern, Relative | None], Tensor]
COMPUTE: dict[str, Compute] = {
    "reference": reference,
    "dense": dense,
    "gather": gather,
    "block": block,
    "kernel": kernel,
}
_WINDOW_ONLY = ("gather", "block", "kernel")


def choose(name: str, pattern: Pattern, q: Tensor) -> Compute:
    """The function for a pattern and queries. `auto` takes the kernel on a GPU, else block; others are taken
    at their word, except that a way which only knows windows leaves patterns without one to `dense`."""
    if name == "auto":
        name = "kernel" if q.is_cuda and available(q) else "block"
    if pattern.window is None and name in _WINDOW_ONLY:
        name = "dense"
    return COMPUTE[name]
