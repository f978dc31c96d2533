from pathlib import Path
from typing import Any

import pytest
import torch

from fenster.data.dataset import PreparedData
from tests.helpers.training import TINY


@pytest.fixture
def settings(toy: PreparedData, tmp_path: Path) -> dict[str, Any]:
    """As in a YAML file; tests change what they are about."""
    return {
        "data": toy.folder,
        "output": tmp_path / "run",
        "context": {"kind": "document"},
        "model": TINY,
        "batch": {"tokens": 600},
        "optimizer": {"warmup": 10, "lr": 2e-3},
        "stop": {"updates": 12, "patience": None},
        "valid": {"every": 5},
        "checkpoint": {"every": 4},
        "log": {"every": 3},
        "device": "cpu",
    }


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    """Tiny matrices gain nothing from threads, and several processes of a test should not fight for cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
