"""A tiny configuration that trains in seconds."""

from typing import Any

from fenster.config import check
from fenster.train.config import TrainConfig

TINY: dict[str, Any] = {
    "encoder_layers": 1,
    "decoder_layers": 1,
    "d_model": 32,
    "ffn": 64,
    "heads": 2,
    "dropout": 0.1,
    "positions": "relative",
    "attention": {"kind": "window", "window": 6},
}


def make(settings: dict[str, Any], **changes: Any) -> TrainConfig:
    return check({**settings, **changes}, TrainConfig)
