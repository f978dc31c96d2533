"""What a model in PyTorch attends to: shares of attention on the current sentence, by layer and head.

References are force-decoded, one document part at a time, as in training.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from fenster.data.batch import PackedSide
from fenster.data.examples import ExampleSide
from fenster.decode.training_parts import Weights, training_parts
from fenster.document import ParallelDocument
from fenster.model.attention.probe import Probe
from fenster.model.description import AnyModel
from fenster.model.layout import Layout
from fenster.model.model_folder import LoadedModel


def probed(loaded: LoadedModel, documents: Iterable[ParallelDocument], tokens: int) -> tuple[Probe, int]:
    """(attention on about the first `tokens` target tokens, how many there really were)."""
    probe, seen = Probe(), 0
    for source, target, _ in training_parts(loaded, documents):
        _forward(loaded, source, target, probe)
        seen += len(target.ids)
        if seen >= tokens:
            break
    return probe, seen


def shares(probe: Probe) -> list[dict[str, Any]]:
    """One line per module: its share on the current sentence and its entropy, mean and by head."""
    return [
        {
            "module": name,
            "share": float(probe.share(name).mean()),
            "entropy": float(probe.entropy(name).mean()),
            "heads": [round(value, 4) for value in probe.share(name).tolist()],
        }
        for name in probe.modules
    ]


def mean_cross_weights(model: AnyModel, source: ExampleSide, target: ExampleSide) -> Weights:
    """[target tokens, source tokens] weights of cross-attention, mean over heads and layers."""
    assert isinstance(model, LoadedModel)
    probe = Probe(keep_weights=True)
    _forward(model, source, target, probe)
    cross = [weights_[0] for name, weights_ in probe.weights.items() if name.endswith("cross")]
    weights: Weights = torch.stack(cross).mean((0, 1)).double().cpu().numpy()
    return weights


def _forward(loaded: LoadedModel, source: ExampleSide, target: ExampleSide, probe: Probe) -> None:
    device = loaded.model.device
    sides = [PackedSide.pack([side]) for side in (source, target)]
    ids = [torch.from_numpy(side.ids.astype(np.int64)).to(device) for side in sides]
    with torch.inference_mode():
        loaded.model(*ids, *(Layout.of(side, device) for side in sides), probe=probe)
