"""Norms of sums on a CPU without gradients, in one pass."""

from __future__ import annotations

import ctypes

from torch import Tensor, nn

from fenster.model.ops.native import call, thread_count


class Norm(ctypes.Structure):
    """`Norm` of native/norm.h."""

    _fields_ = (("weight", ctypes.c_void_p), ("bias", ctypes.c_void_p), ("epsilon", ctypes.c_double))

    @classmethod
    def of(cls, norm: nn.LayerNorm) -> Norm:
        """It points into the layer, which must not go away before it."""
        return cls(norm.weight.data_ptr(), norm.bias.data_ptr(), norm.eps)


def residual_norm(x: Tensor, y: Tensor, norm: nn.LayerNorm) -> Tensor:
    """norm(x + y), [rows, d_model]."""
    x, y = x.contiguous(), y.contiguous()
    out = x.new_empty(x.shape)
    call("fenster_residual_norm", x, y, Norm.of(norm), *x.shape, out, thread_count())
    return out
