"""A model in PyTorch as the compiled library computes it."""

from __future__ import annotations

from fenster.model.compiled.network import CompiledNetwork
from fenster.model.transformer import Transformer


def compiled(model: Transformer, *, int8: bool) -> CompiledNetwork:
    """The same network, with weights of its own."""
    weights = ((name, tensor.detach().float().cpu().numpy()) for name, tensor in model.state_dict().items())
    return CompiledNetwork(model.config, model.vocab_size, model.ratio, weights, int8=int8)
