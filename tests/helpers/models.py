"""Models of every kind with random weights: they translate nothing, but every rule of decoding holds for them too."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from fenster.config import check
from fenster.data.dataset import PreparedData
from fenster.decode.config import DecodeConfig
from fenster.decode.search import Hypothesis, SearchRequest
from fenster.decode.search.pytorch.searcher import PytorchSearcher
from fenster.model.compiled.conversion import compiled
from fenster.model.compiled.model_folder import CompiledModel
from fenster.model.config import preset
from fenster.model.description import Description
from fenster.model.model_folder import LoadedModel, save_model
from fenster.model.transformer import Transformer

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
    return PytorchSearcher(model, DecodeConfig(**settings)).search(requests)


def as_compiled(loaded: LoadedModel, *, int8: bool = False) -> CompiledModel:
    """The same model for the compiled library."""
    network = compiled(loaded.model, int8=int8)
    return CompiledModel(loaded.description, network, loaded.tokenizer, loaded.folder, loaded.lexicon)
