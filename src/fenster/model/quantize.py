"""A model with int8 weights, for translation on a CPU."""

from __future__ import annotations

import copy

from torch import nn

from fenster.errors import FensterError
from fenster.io.progress import report
from fenster.model.ops.int8_linear import RowwiseInt8Linear
from fenster.model.ops.torch_private import int8_available
from fenster.model.transformer import Transformer


def quantized(model: Transformer) -> Transformer:
    """A copy whose linear layers have int8 weights, a scale for each row, and quantise their inputs as they come.

    Embeddings, norms and attention itself stay float32. For decoding only: no gradients, no GPU. If PyTorch lacks the
    operations, the copy computes in float32.
    """
    if model.device.type != "cpu":
        raise FensterError("int8 weights are for a CPU", fix="use device: cpu, or leave int8 out")
    small = copy.deepcopy(model).float().eval()
    if not int8_available():
        report("this version of PyTorch has no int8 linear layers; translating in float32")
        return small
    for module in list(small.modules()):
        nonnegative = getattr(module, "nonnegative_inputs", ())
        for name, layer in list(module.named_children()):
            if isinstance(layer, nn.Linear):
                setattr(module, name, RowwiseInt8Linear(layer, nonnegative=name in nonnegative))
    weight = small.embedding.weight
    output = nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    output.weight = weight
    small.projection = RowwiseInt8Linear(output)
    return small
