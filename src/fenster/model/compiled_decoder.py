"""A decoding step through all decoder layers in one call of the compiled library, for models with int8 weights.

The numbers are those of the layers' own `step`, to the bit. Each thread takes some of the hypotheses through all
layers, so threads start once per step, and attention and norms have as many as products do.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from torch import Tensor, nn

from fenster.errors import nan_error
from fenster.model.attention.backends.decode_step import Slots
from fenster.model.attention.cache import CacheView, CrossAttentionCache, SelfAttentionCache
from fenster.model.layers import DecoderLayer
from fenster.model.ops.int8_linear import RowwiseInt8Linear
from fenster.model.ops.native import call, pointers, thread_count
from fenster.model.ops.norm import Norm


class _Matrix(ctypes.Structure):
    """`Matrix` of native/int8_product.h."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("packed", "sums", "scale", "bias")),
        *((name, ctypes.c_int64) for name in ("columns", "depth", "nonnegative")),
    )

    @classmethod
    def of(cls, layer: nn.Module) -> _Matrix:
        assert isinstance(layer, RowwiseInt8Linear)
        packed, bias = layer.packed, layer.bias
        tensors = (packed.weights, packed.sums, packed.scale, bias)
        addresses = (None if tensor is None else tensor.data_ptr() for tensor in tensors)
        return cls(*addresses, len(packed.sums), packed.depth, layer.nonnegative)


class _Layer(ctypes.Structure):
    """`Layer` of native/layers.cpp."""

    _fields_ = (
        *((name, _Matrix) for name in ("qkv", "out", "cross_q", "cross_out", "up", "down")),
        *((name, Norm) for name in ("after_attention", "after_cross", "after_ffn")),
        ("table", ctypes.c_void_p),
    )

    @classmethod
    def of(cls, layer: DecoderLayer) -> _Layer:
        attention, cross, ffn = layer.attention, layer.cross, layer.ffn
        matrices = (attention.qkv, attention.out, cross.q, cross.out, ffn.up, ffn.down)
        norms = (layer.around_attention.norm, layer.around_cross.norm, layer.around_ffn.norm)
        table = None if attention.table is None else attention.table.data_ptr()
        return cls(*map(_Matrix.of, matrices), *map(Norm.of, norms), table)


class CompiledDecoder:
    """The layers of a decoder with int8 weights and norms after sub-layers."""

    def __init__(self, layers: Sequence[DecoderLayer]) -> None:
        self._layers = layers  # the structures point into them
        self._structures = (_Layer * len(layers))(*map(_Layer.of, layers))

    def __reduce__(self) -> tuple[type[CompiledDecoder], tuple[Sequence[DecoderLayer]]]:
        return type(self), (self._layers,)  # copies of a model have addresses of their own

    def takes(self, view: CacheView) -> bool:
        """True if modules compute one context vector (LST computes two)."""
        return len(view.allowed) == 1

    def step(
        self, x: Tensor, own: tuple[SelfAttentionCache, CacheView], source: tuple[CrossAttentionCache, CacheView]
    ) -> Tensor:
        """One token for each hypothesis [N, d_model], as `DecoderLayer.step` of all layers."""
        (cache, own_view), (source_cache, source_view) = own, source
        x, heads, layers = x.clone(), self._layers[0].attention.heads, range(len(self._layers))
        slots, source_kv = cache.slots(0), source_cache.kv
        failed = call(
            "fenster_decoder_step",
            *(self._structures, len(layers), pointers([cache.kv[layer] for layer in layers])),
            *(Slots.of(own_view, own_view.allowed[0], slots, own_view.relative is not None), cache.new_slots),
            *(pointers([source_kv[layer] for layer in layers]),),
            *(Slots.of(source_view, source_view.allowed[0], source_kv[0], False), x, *x.shape, heads, thread_count()),
        )
        if failed:
            raise nan_error()
        return x
