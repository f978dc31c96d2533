"""Weights before training: initialisation, and partial copies from another model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode


def init_weights(layer: nn.Linear | nn.Embedding, d_model: int) -> None:
    """Normal with variance 1 / (5 width), which is Marian's and BERT's deviation of 0.02 at width 512; no bias.

    With the norm last, as in the paper's base, sub-layers that start small let the gradient through to the encoder.
    Glorot's variance, two to five times as much (fairseq's), takes twice the updates to get anywhere at dropout 0.3:
    docs/results.md has the figures.
    """
    nn.init.normal_(layer.weight, std=(5 * d_model) ** -0.5)
    with torch.no_grad():
        if isinstance(layer, nn.Linear):
            layer.bias.zero_()
        elif layer.padding_idx is not None:
            layer.weight[layer.padding_idx].zero_()


class WithoutWeights(TorchFunctionMode):
    """Modules that are made in this context have no initial weights: `torch.nn.init` does nothing, and memory that
    nobody touches costs nothing. (On the meta device, PyTorch would import its compiler for a second.)"""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__module__", "") == nn.init.__name__:
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))


def load_partial(model: nn.Module, weights: Mapping[str, Tensor]) -> tuple[list[str], list[str]]:
    """Copy matching weights from another model. Returns (names left at their initial values, source names that were
    not used); names that match only in part are listed, too. Raises ValueError on incompatible shapes.

    Attention may differ. An output projection for several contexts side by side takes a projection for a single
    context in equal shares, so that sequences of one sentence, where LST's contexts are the same, are projected as
    before; in the other direction their sum. Of relative vectors the distances that both have are copied.
    """
    own = model.state_dict()  # the model's own tensors, not copies
    fresh, left = list(own.keys() - weights.keys()), list(weights.keys() - own.keys())
    for name in sorted(own.keys() & weights.keys()):
        fitted = _fitted(own[name], weights[name])
        if fitted is None:
            raise ValueError(
                f"{name} is {list(weights[name].shape)} in that model and {list(own[name].shape)} in this one"
            )
        if own[name].dim() == 3 and len(own[name]) != len(weights[name]):
            (fresh if len(own[name]) > len(weights[name]) else left).append(name)
        own[name].copy_(fitted)
    return sorted(fresh), sorted(left)


def _fitted(own: Tensor, other: Tensor) -> Tensor | None:
    """`other` in the shape of `own`, if there is a way."""
    if own.shape == other.shape:
        return other
    if own.dim() == 2 and len(own) == len(other):  # maps of contexts side by side
        wide, narrow = max(own.shape[1], other.shape[1]), min(own.shape[1], other.shape[1])
        if wide % narrow == 0 and narrow == len(own):
            if own.shape[1] == wide:
                return other.repeat(1, wide // narrow) / (wide // narrow)
            return other.view(len(other), -1, narrow).sum(1)
    if own.dim() == 3 and own.shape[1:] == other.shape[1:]:  # vectors by distance, the middle one for 0
        extra = (len(own) - len(other)) // 2
        if extra < 0:
            return other[-extra:extra]
        joined = own.clone()
        joined[extra : len(own) - extra] = other
        return joined
    return None
