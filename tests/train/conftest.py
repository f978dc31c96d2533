"""A tiny configuration that trains in seconds, and greedy decoding to see what a model learned."""

from pathlib import Path
from typing import Any

import pytest
import torch

from fenster.config import check
from fenster.shards import Prepared
from fenster.train.config import TrainConfig

TINY: dict[str, Any] = {
    "encoder_layers": 1,
    "decoder_layers": 1,
    "width": 32,
    "ffn": 64,
    "heads": 2,
    "dropout": 0.1,
    "positions": "relative",
    "attention": {"kind": "window", "window": 6},
}


@pytest.fixture
def settings(toy: Prepared, tmp_path: Path) -> dict[str, Any]:
    """As in a YAML file; tests change what they are about."""
    return {
        "data": toy.folder,
        "output": tmp_path / "run",
        "context": {"kind": "document"},
        "model": TINY,
        "batch": {"tokens": 600},
        "optimizer": {"warmup": 10, "rate": 2e-3},
        "stop": {"updates": 12, "patience": None},
        "valid": {"every": 5},
        "checkpoint": {"every": 4},
        "log": {"every": 3},
        "device": "cpu",
    }


def make(settings: dict[str, Any], **changes: Any) -> TrainConfig:
    return check({**settings, **changes}, TrainConfig)


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    """Tiny matrices gain nothing from threads, and several processes of a test should not fight for cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
