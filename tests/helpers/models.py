"""Models of every kind with random weights: they translate nothing, but every rule of decoding holds for them too."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from fenster.config import check
from fenster.data.dataset import PreparedData
from fenster.decode.config import DecodeConfig
from fenster.decode.search import Hypothesis, Searcher, SearchRequest
from fenster.model import Transformer, preset
from fenster.model.model_folder import Description, LoadedModel, save_model

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


def make_loaded(toy: PreparedData, kind: str, sharpness: float = 4.0) -> LoadedModel:
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
    return LoadedModel(description, model, toy.tokenizer)


def write_model(loaded: LoadedModel, folder: Path) -> Path:
    weights = {name: tensor.float() for name, tensor in loaded.model.state_dict().items()}
    save_model(folder, loaded.description, weights, loaded.tokenizer, "# a card")
    return folder


def search(model: Transformer, requests: Sequence[SearchRequest], **settings: Any) -> list[list[Hypothesis]]:
    return Searcher(model, DecodeConfig(**settings)).search(requests)
