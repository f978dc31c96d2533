"""The network of a model for the compiled library: its weights packed, and the structures that describe it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from fenster.errors import FensterError
from fenster.io.machine import usual_threads
from fenster.io.native_library import library
from fenster.model.compiled.matrix import Float32, PackedMatrix, pack_float32, pack_int8
from fenster.model.compiled.structures import (
    DecoderLayer,
    EncoderLayer,
    Matrix,
    Network,
    Norm,
    has_this_layout,
    int32,
    pointer,
)
from fenster.model.config import ModelConfig
from fenster.model.int8_storage import SCALE, quantize_rows

_EPSILON = 1e-5  # of layer norms
Weights = Iterable[tuple[str, npt.NDArray[Any]]]


def compiles(config: ModelConfig) -> bool:
    """True if the compiled library is here and decodes with models of this kind."""
    return config.variant.compiled and library() is not None and has_this_layout()


class CompiledNetwork:
    """`weights` are named as in a state dict of `Transformer`, with scales beside int8 matrices; each is packed as it
    comes, so that no file need stay in memory. With `int8` matrices are multiplied in 8 bits, otherwise in float32.
    ValueError says what does not fit, FloatingPointError what is NaN or infinite."""

    def __init__(self, config: ModelConfig, vocab_size: int, ratio: float, weights: Weights, *, int8: bool) -> None:
        self.config, self.vocab_size, self.ratio, self.int8 = config, vocab_size, ratio, int8
        self.threads = usual_threads()
        self._matrices: dict[str, PackedMatrix] = {}
        self._vectors: dict[str, Float32] = {}
        self._fill(weights)
        encoder, decoder = range(config.encoder_layers), range(config.decoder_layers)
        self._encoder = (EncoderLayer * len(encoder))(*map(self._encoder_layer, encoder))
        self._decoder = (DecoderLayer * len(decoder))(*map(self._decoder_layer, decoder))
        self.structure = self._structure()

    def tokens(self, ids: Any) -> npt.NDArray[np.int32]:
        """Ids as the library takes them."""
        checked = int32(ids)
        largest = checked.max(initial=0)
        if largest >= self.vocab_size:
            raise FensterError(
                f"token {largest:,} is not in the model's vocabulary of {self.vocab_size:,} pieces",
                fix="continue translations only with the model that made them",
            )
        return checked

    @property
    def nbytes(self) -> int:
        """Of all weights."""
        matrices = sum(matrix.nbytes for matrix in self._matrices.values())
        return matrices + sum(vector.nbytes for vector in self._vectors.values())

    def _fill(self, weights: Weights) -> None:
        expected = shapes(self.config, self.vocab_size)
        waiting: dict[str, npt.NDArray[Any]] = {}  # int8 matrices without scales, or the other way round
        for name, array in weights:
            of = name.removesuffix(SCALE)
            if of not in expected:
                raise ValueError(f"{name} is not part of such a model")
            shape = (expected[of][0], 1) if name != of else expected[of]
            if array.shape != shape:
                raise ValueError(f"{name} is {_text(array.shape)}, not {_text(shape)}")
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise FloatingPointError(name)
            if name == of and array.dtype != np.int8:
                self._add(name, np.array(array, dtype=np.float32))
                continue
            waiting[name] = array
            if of in waiting and of + SCALE in waiting:
                self._add_int8(of, waiting.pop(of), waiting.pop(of + SCALE))
        for name in waiting:
            raise ValueError(f"{name} has no scales" if not name.endswith(SCALE) else f"{name} is of no int8 matrix")
        missing = [name for name in expected if name not in self._matrices and name not in self._vectors]
        if missing:
            raise ValueError(f"{missing[0]} is missing" + (f", and {len(missing) - 1} more" if missing[1:] else ""))

    def _add(self, name: str, array: Float32) -> None:
        if array.ndim != 2:
            self._vectors[name] = np.ascontiguousarray(array)
        elif self.int8:
            self._matrices[name] = pack_int8(*quantize_rows(array))
        else:
            self._matrices[name] = pack_float32(array)

    def _add_int8(self, name: str, weight: npt.NDArray[np.int8], scale: Float32) -> None:
        if weight.min(initial=0) < -127:  # the library changes signs
            raise ValueError(f"{name} has numbers below -127")
        if self.int8:
            self._matrices[name] = pack_int8(weight, scale[:, 0])
        else:
            self._matrices[name] = pack_float32(weight.astype(np.float32) * scale)

    def _matrix(self, name: str, after_relu: bool = False) -> Matrix:
        return self._matrices[name + ".weight"].structure(self._vectors.get(name + ".bias"), after_relu)

    def _norm(self, name: str) -> Norm:
        return Norm(*(pointer(self._vectors.get(f"{name}.{part}")) for part in ("weight", "bias")), _EPSILON)

    def _encoder_layer(self, number: int) -> EncoderLayer:
        name = f"encoder.{number}."
        return EncoderLayer(
            *(self._matrix(name + part) for part in ("attention.qkv", "attention.out", "ffn.up")),
            self._matrix(name + "ffn.down", after_relu=True),
            *(self._norm(f"{name}around_{part}.norm") for part in ("attention", "ffn")),
            pointer(self._vectors.get(name + "attention.table")),
        )

    def _decoder_layer(self, number: int) -> DecoderLayer:
        name = f"decoder.{number}."
        parts = ("attention.qkv", "attention.out", "cross.q", "cross.kv", "cross.out", "ffn.up")
        return DecoderLayer(
            *(self._matrix(name + part) for part in parts),
            self._matrix(name + "ffn.down", after_relu=True),
            *(self._norm(f"{name}around_{part}.norm") for part in ("attention", "cross", "ffn")),
            pointer(self._vectors.get(name + "attention.table")),
        )

    def _structure(self) -> Network:
        config = self.config
        window = config.variant.window
        return Network(
            self._encoder,
            self._decoder,
            *(config.encoder_layers, config.decoder_layers, config.d_model, config.heads),
            self._matrix("embedding"),
            *(self._norm(f"{part}_norm") for part in ("encoder", "decoder")),
            *(config.norm == "pre", config.positions == "sinusoidal", -1 if window is None else window),
            *(config.variant.branches, config.max_distance or 0),
        )


def shapes(config: ModelConfig, vocab_size: int) -> dict[str, tuple[int, ...]]:
    """Of all weights of a model, by name."""
    d, ffn, branches = config.d_model, config.ffn, config.variant.branches
    made: dict[str, tuple[int, ...]] = {"embedding.weight": (vocab_size, d)}

    def linear(name: str, columns: int, depth: int) -> None:
        made.update({f"{name}.weight": (columns, depth), f"{name}.bias": (columns,)})

    def norm(name: str) -> None:
        made.update({f"{name}.weight": (d,), f"{name}.bias": (d,)})

    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for number in range(layers):
            name = f"{side}.{number}"
            linear(f"{name}.attention.qkv", 3 * d, d)
            linear(f"{name}.attention.out", d, branches * d)
            if config.max_distance is not None:
                made[f"{name}.attention.table"] = (2 * config.max_distance + 1, config.heads, d // config.heads)
            if side == "decoder":
                linear(f"{name}.cross.q", d, d)
                linear(f"{name}.cross.kv", 2 * d, d)
                linear(f"{name}.cross.out", d, d)
                norm(f"{name}.around_cross.norm")
            linear(f"{name}.ffn.up", ffn, d)
            linear(f"{name}.ffn.down", d, ffn)
            norm(f"{name}.around_attention.norm")
            norm(f"{name}.around_ffn.norm")
        if config.norm == "pre":
            norm(f"{side}_norm")
    return made


def _text(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
