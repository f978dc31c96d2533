"""Models of every kind with random weights: they translate nothing, but every rule of decoding holds for them too."""

from typing import Any

import pytest
import torch

from fenster.config import check
from fenster.model import Transformer, preset
from fenster.model.saved import Description, Saved
from fenster.shards import Prepared

KINDS: dict[str, dict[str, Any]] = {
    "sentence": {"context": {"kind": "sentence"}, "model": {}},
    "concat-2": {"context": {"kind": "adjacent", "k": 2}, "model": {}},
    "concat": {"context": {"kind": "document", "limit": 60}, "model": {}},
    "concat-relative": {"context": {"kind": "document", "limit": 60}, "model": {"positions": "relative"}},
    "lst": {"context": {"kind": "document", "limit": 60}, "model": {"attention": {"kind": "lst"}}},
    "window": {
        "context": {"kind": "document", "limit": 60},
        "model": {"attention": {"kind": "window", "window": 4}, "positions": "relative"},
    },
    "window-absolute": {
        "context": {"kind": "document", "limit": 60},
        "model": {"attention": {"kind": "window", "window": 4, "decoding_alignment": "train-ratio"}},
    },
}


def make_saved(toy: Prepared, kind: str, sharpness: float = 4.0) -> Saved:
    """Sharp random weights, so that no two hypotheses are nearly alike."""
    settings = KINDS[kind]
    config = preset("tiny", **settings["model"])
    torch.manual_seed(5)
    model = Transformer(config, toy.manifest.vocab_size, 0.95).double().eval()
    with torch.no_grad():
        model.embedding.weight.mul_(sharpness)
        model.embedding.weight[3] *= 1.5
    description = check(
        {
            "model": config,
            "vocab_size": toy.manifest.vocab_size,
            "ratio": 0.95,
            "context": settings["context"],
            "system": kind,
        },
        Description,
    )
    return Saved(description, model, toy.tokenizer)


@pytest.fixture(params=list(KINDS))
def saved(request: pytest.FixtureRequest, toy: Prepared) -> Saved:
    return make_saved(toy, request.param)
