"""How much memory a search will take, before it takes it."""

from __future__ import annotations

from collections.abc import Sequence

import psutil

from fenster.decode.search.request import SearchRequest
from fenster.errors import FensterError
from fenster.model.config import ModelConfig

_FLOAT = 4  # bytes
_COPIES_OF_LOGITS = 4  # logits, log-probabilities, and what choosing among them needs
_COPIES_OF_CACHE = 2  # when hypotheses change places
_MARGIN = 3
USABLE = 0.8  # of the memory that is free


def search_bytes(config: ModelConfig, vocab_size: int, request: SearchRequest, beam: int) -> int:
    """About what one search takes at its widest. Given tokens are kept once, new ones for each hypothesis."""
    given, new = sum(len(sentence) + 1 for sentence in request.given), request.constraints.max_steps
    variant = config.variant
    window = variant.max_distance
    if variant.receptive_field(config.encoder_layers, config.decoder_layers) is not None and window is not None:
        given, new = min(given, window + 1), min(new, window + 1)
    cached = _COPIES_OF_CACHE * 2 * config.decoder_layers * config.d_model * (given + beam * new)
    logits = beam * _COPIES_OF_LOGITS * vocab_size
    source = request.tokens * (config.ffn + 8 * config.d_model)
    return _FLOAT * (cached + logits + source)


def free_memory() -> int:
    """What searches on a CPU may take."""
    return int(USABLE * psutil.virtual_memory().available)


def most_at_once(
    config: ModelConfig, vocab_size: int, requests: Sequence[SearchRequest], beam: int, free: int
) -> int:
    """How many of these searches fit into `free` bytes together. An error if even one cannot, by a wide margin: the
    estimate is rough, and a search that does run out of memory says so."""
    largest = max(search_bytes(config, vocab_size, request, beam) for request in requests)
    if largest > _MARGIN * free:
        raise FensterError(
            f"one search with beam {beam:,} takes about {largest / 1e9:.1f} GB, but only {free / 1e9:.1f} GB is free",
            fix="lower --beam, or give less context (--context)",
        )
    return max(1, free // largest)
