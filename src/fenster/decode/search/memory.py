"""How much memory a search will take, before it takes it."""

from __future__ import annotations

import psutil
import torch

from fenster.decode.search.request import SearchRequest
from fenster.errors import FensterError
from fenster.model.transformer import Transformer

_FLOAT = 4  # bytes
_COPIES_OF_LOGITS = 4  # logits, log-probabilities, and what choosing among them needs
_USABLE = 0.8  # of the memory that is free


def search_bytes(model: Transformer, request: SearchRequest, beam: int) -> int:
    """About what one search takes at its widest."""
    config = model.config
    tokens = sum(len(sentence) + 1 for sentence in request.given) + request.constraints.max_steps
    field = model.variant.receptive_field(config.encoder_layers, config.decoder_layers)
    cached = tokens if field is None else min(tokens, field.target + 1)
    hypotheses = beam * (
        _COPIES_OF_LOGITS * len(model.embedding.weight)
        + 4 * config.decoder_layers * config.d_model * cached  # keys and values, and their copies when reordered
    )
    source = request.tokens * (config.ffn + 8 * config.d_model)
    return _FLOAT * (hypotheses + source)


def free_bytes(device: torch.device) -> int:
    """What a search may take."""
    free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else psutil.virtual_memory().available
    return int(_USABLE * free)


def most_at_once(model: Transformer, requests: list[SearchRequest], beam: int) -> int:
    """How many of these searches fit into memory together; an error if not even one does."""
    largest = max(search_bytes(model, request, beam) for request in requests)
    free = free_bytes(model.device)
    if largest > free:
        raise FensterError(
            f"one search with beam {beam:,} takes about {largest / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free",
            fix="lower --beam, or give less context (--context)",
        )
    return max(1, free // largest)
