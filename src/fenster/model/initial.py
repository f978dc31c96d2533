"""Weights before training."""

from __future__ import annotations

import torch
from torch import nn


def start(layer: nn.Linear | nn.Embedding, width: int) -> None:
    """Normal with variance 1 / (5 width), which is Marian's and BERT's deviation of 0.02 at width 512; no bias.

    With the norm last, as in the paper's base, sub-layers that start small let the gradient through to the encoder.
    Glorot's variance, two to five times as much (fairseq's), takes twice the updates to get anywhere at dropout 0.3:
    docs/results.md has the figures.
    """
    nn.init.normal_(layer.weight, std=(5 * width) ** -0.5)
    with torch.no_grad():
        if isinstance(layer, nn.Linear):
            layer.bias.zero_()
        elif layer.padding_idx is not None:
            layer.weight[layer.padding_idx].zero_()
