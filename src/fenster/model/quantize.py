"""A model with int8 weights, for translation on a CPU."""

from __future__ import annotations

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
        small = Transformer(model.config, model.vocab_size, model.ratio)
    fill(small, model.state_dict(), int8=True)
    return small


def fill(model: Transformer, tensors: dict[str, Tensor], *, int8: bool) -> None:
    """Give a model its weights, as a file has them. RuntimeError says what does not fit.

    With `int8` matrices stay int8, with a scale per row, and inputs are quantised as they come; norms and attention
    itself are float32. For decoding only: no gradients. Where the kernel was not compiled, float32 it is. Matrices
    are taken out of `tensors` one by one, so that no file stays in memory beside the model."""
    if int8 and not int8_available():
        report("fenster was installed without its compiled int8 kernel; translating in float32")
        int8 = False
    model.eval()
    if not int8:
        model.load_state_dict(dequantize_state(tensors), assign=True)
        return
    stored = tensors if any(name + SCALE in tensors for name in tensors) else quantize_state(tensors)
    scales = {name: stored[name + SCALE].clone() for name in stored if name + SCALE in stored}
    shapes = {name: torch.empty(stored[name].shape, device="meta") for name in scales}
    # Copies: a view would keep all of its file in memory.
    others = {name: stored[name].clone() for name in stored if name not in scales and not name.endswith(SCALE)}
    model.load_state_dict(shapes | dequantize_state(others), assign=True)
    for name in [name for name in stored if name not in scales]:
        del stored[name]

    def taken(name: str) -> tuple[Tensor, Tensor]:
        """A matrix and the scales of its rows."""
        weight, scale = stored.pop(name, None), scales.get(name)
        # Not -128: the kernel changes their signs.
        is_int8 = weight is not None and weight.dtype == torch.int8 and int(weight.min()) >= -127
        if weight is None or scale is None or not is_int8 or scale.shape != (len(weight), 1):
            raise RuntimeError(f"{name} is not int8 from -127 to 127 with a scale per row")
        return weight, scale

    weight, scale = taken(_EMBEDDING)
    model.projection = RowwiseInt8Linear(weight, scale[:, 0])
    model.embedding = Int8Embedding(model.projection.packed)
    del weight
    for path, module in list(model.named_modules()):
        nonnegative = getattr(module, "nonnegative_inputs", ())
        for name, layer in list(module.named_children()):
            if isinstance(layer, nn.Linear):
                weight, scale = taken(f"{path}.{name}.weight")
                setattr(module, name, RowwiseInt8Linear(weight, scale[:, 0], layer.bias, name in nonnegative))
    if model.config.norm == "post":
        model.compiled_decoder = CompiledDecoder(model.decoder_layers())
