"""How much memory a search will take, before it takes it."""

from __future__ import annotations

import psutil
import torch

from fenster.decode.search.request import SearchRequest
from fenster.errors import FensterError
from fenster.model.transformer import Transformer

_FLOAT = 4  # bytes
_COPIES_OF_LOGITS = 4  # logits, log-probabilities, and what choosing among them needs
_COPIES_OF_CACHE = 2  # when hypotheses change places
_MARGIN = 3
_USABLE = 0.8  # of the memory that is free


def search_bytes(model: Transformer, request: SearchRequest, beam: int) -> int:
    """About what one search takes at its widest. Given tokens are kept once, new ones for each hypothesis."""
    config = model.config
    given, new = sum(len(sentence) + 1 for sentence in request.given), request.constraints.max_steps
    window = model.variant.max_distance
    if model.variant.receptive_field(config.encoder_layers, config.decoder_layers) is not None and window is not None:
        given, new = min(given, window + 1), min(new, window + 1)
    cached = _COPIES_OF_CACHE * 2 * config.decoder_layers * config.d_model * (given + beam * new)
    logits = beam * _COPIES_OF_LOGITS * model.vocab_size
    source = request.tokens * (config.ffn + 8 * config.d_model)
    return _FLOAT * (cached + logits + source)


def free_bytes(device: torch.device) -> int:
    """What a search may take."""
    if device.type != "cuda":
        return int(_USABLE * psutil.virtual_memory().available)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)  # PyTorch keeps it for us
    return int(_USABLE * (torch.cuda.mem_get_info(device)[0] + unused))


def most_at_once(model: Transformer, requests: list[SearchRequest], beam: int) -> int:
    """How many of these searches fit into memory together. An error if even one cannot, by a wide margin: the
    estimate is rough, and a search that does run out of memory says so."""
    largest = max(search_bytes(model, request, beam) for request in requests)
    free = free_bytes(model.device)
    if largest > _MARGIN * free:
        raise FensterError(
            f"one search with beam {beam:,} takes about {largest / 1e9:.1f} GB, but only {free / 1e9:.1f} GB is free",
            fix="lower --beam, or give less context (--context)",
        )
    return max(1, free // largest)
