"""A model with int8 weights, for translation on a CPU."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from fenster.errors import FensterError
from fenster.io.progress import report
from fenster.model.compiled_decoder import CompiledDecoder
from fenster.model.init import WithoutWeights
from fenster.model.int8_storage import SCALE, dequantize_state, quantize_state
from fenster.model.ops.int8_kernel import int8_available
from fenster.model.ops.int8_linear import Int8Embedding, RowwiseInt8Linear
from fenster.model.transformer import Transformer

_EMBEDDING = "embedding.weight"


def quantized(model: Transformer) -> Transformer:
    """A copy whose linear layers have int8 weights, for decoding on a CPU."""
    if model.device.type != "cpu":
        raise FensterError("int8 weights work only on a CPU", fix="use device: cpu, or leave int8 out")
    with WithoutWeights():
        small = Transformer(model.config, len(model.embedding.weight), model.ratio)
    fill(small, model.state_dict(), int8=True)
    return small


def fill(model: Transformer, tensors: Mapping[str, Tensor], *, int8: bool) -> None:
    """Give a model its weights, as a file has them. RuntimeError says what does not fit.

    With `int8` matrices stay int8, with a scale per row, and inputs are quantised as they come; norms and attention
    itself are float32. For decoding only: no gradients. Where the kernel was not compiled, float32 it is."""
    if int8 and not int8_available():
        report("fenster was installed without its compiled int8 kernel; translating in float32")
        int8 = False
    model.eval()
    if not int8:
        model.load_state_dict(dequantize_state(tensors), assign=True)
        return
    stored = tensors if any(name + SCALE in tensors for name in tensors) else quantize_state(tensors)
    scales = {name: stored[name + SCALE] for name in stored if name + SCALE in stored}
    for name, scale in scales.items():
        # Not -128: the kernel changes their signs.
        is_int8 = stored[name].dtype == torch.int8 and int(stored[name].min()) >= -127
        if not is_int8 or scale.shape != (len(stored[name]), 1):
            raise RuntimeError(f"{name} is not int8 from -127 to 127 with a scale per row")
    shapes = {name: torch.empty(stored[name].shape, device="meta") for name in scales}
    # Copies, here and of the embedding: a view would keep all of its file in memory.
    others = {name: stored[name].clone() for name in stored if name not in scales and not name.endswith(SCALE)}
    model.load_state_dict(shapes | dequantize_state(others), assign=True)
    for path, module in list(model.named_modules()):
        nonnegative = getattr(module, "nonnegative_inputs", ())
        for name, layer in list(module.named_children()):
            if isinstance(layer, nn.Linear):
                key = f"{path}.{name}.weight"
                if key not in scales:
                    raise RuntimeError(f"{key} is not int8 with a scale per row")
                made = RowwiseInt8Linear(stored[key], scales[key][:, 0], layer.bias, name in nonnegative)
                setattr(module, name, made)
    model.projection = RowwiseInt8Linear(stored[_EMBEDDING], scales[_EMBEDDING][:, 0])
    model.embedding = Int8Embedding(stored[_EMBEDDING].clone(), scales[_EMBEDDING].clone())
    if model.config.norm == "post":
        model.compiled_decoder = CompiledDecoder(model.decoder_layers())
