"""How attention is computed: interchangeable functions of one signature.

    compute(q [T, H, D], k [S, H, D], v [S, H, D], pattern, relative | None) -> [T, H, D]

`reference` defines what is right, for every pattern. A new way is one new file and one line in COMPUTE.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from fenster.errors import FensterError
from fenster.model.compute.block import block
from fenster.model.compute.dense import dense
from fenster.model.compute.dense import ready as dense_ready
from fenster.model.compute.gather import gather
from fenster.model.compute.kernel import available as kernel_available
from fenster.model.compute.kernel import kernel
from fenster.model.compute.kernel import ready as kernel_ready
from fenster.model.compute.reference import reference
from fenster.model.compute.varlen import available as varlen_available
from fenster.model.compute.varlen import ready as varlen_ready
from fenster.model.compute.varlen import varlen
from fenster.model.pattern import Pattern, Relative

Compute = Callable[[Tensor, Tensor, Tensor, Pattern, Relative | None], Tensor]
COMPUTE: dict[str, Compute] = {
    "reference": reference,
    "dense": dense,
    "varlen": varlen,
    "gather": gather,
    "block": block,
    "kernel": kernel,
}
_WINDOW_ONLY = ("gather", "block", "kernel")


def choose(name: str, pattern: Pattern, q: Tensor, relative: bool) -> str:
    """The way for a pattern and queries like `q`.

    `auto` takes the fastest that can do it: on a GPU kernel (windows) or varlen, elsewhere block or dense. Others are
    taken at their word, except that a way which only knows windows leaves patterns without one to the same choice.
    """
    if pattern.window is None and (name == "auto" or name in _WINDOW_ONLY):
        return "varlen" if varlen_available(q, pattern, relative) else "dense"
    if name == "auto":
        return "kernel" if q.is_cuda and kernel_available(q) else "block"
    if name == "varlen" and (pattern.window is not None or not varlen_available(q, pattern, relative)):
        raise FensterError(
            "this attention cannot be computed the way `varlen`",
            expected="a GPU, 16-bit numbers, no windows, no relative positions",
            fix="take compute: auto",
        )
    return name


def attend(name: str, q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, relative: Relative | None) -> Tensor:
    """Context vectors [T, H, D], computed the way `name` (or auto) says."""
    return COMPUTE[choose(name, pattern, q, relative is not None)](q, k, v, pattern, relative)


def make_ready(name: str, pattern: Pattern, q: Tensor, relative: bool) -> None:
    """Compute now what the chosen way will ask a pattern for, rather than in the first layer that needs it: so layers
    can be compiled as pure functions of tensors. `q` may have no rows."""
    way = choose(name, pattern, q, relative)
    if way == "kernel":
        kernel_ready(q, pattern)
    elif way == "varlen":
        varlen_ready(pattern)
    elif way == "dense":
        dense_ready(pattern, relative)
