"""What several tests share: generated documents, a prepared folder, and the real corpora where they are."""

from __future__ import annotations

import os
from pathlib import Path

# Triton reads this when its kernels are defined: without a GPU they run in its interpreter. Set before any import
# of the model.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")
# Several workers share the cores; their matrices are tiny. Read when torch is imported, here and in child processes.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

from fenster.config import check
from fenster.data.corpora.jsonl import write_jsonl
from fenster.data.corpora.synthetic import GeneratedDocument, generate
from fenster.data.dataset import PreparedData
from fenster.data.prepare import prepare
from fenster.data.prepare.config import PrepareConfig

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    import torch

    if not torch.cuda.is_available():
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason="needs a GPU"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the real corpora (../shared/data) are not on this machine")
    return SHARED


@pytest.fixture(scope="session")
def toy_documents() -> list[GeneratedDocument]:
    return list(generate(120, seed=7))


@pytest.fixture(scope="session")
def toy_config(tmp_path_factory: pytest.TempPathFactory, toy_documents: list[GeneratedDocument]) -> PrepareConfig:
    folder = tmp_path_factory.mktemp("toy")
    for name, part in (("train", toy_documents[:100]), ("valid", toy_documents[100:])):
        write_jsonl((document.pair for document in part), [folder / f"{name}.jsonl"])
    return check(
        {
            "output": folder / "prepared",
            "splits": {name: str(folder / f"{name}.jsonl") for name in ("train", "valid")},
            "tokenizer": {"vocab_size": 500},
            "workers": 1,
        },
        PrepareConfig,
    )


@pytest.fixture(scope="session")
def toy(toy_config: PrepareConfig) -> PreparedData:
    return prepare(toy_config).prepared


@pytest.fixture(scope="session")
def sharded(toy_config: PrepareConfig, tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    """The toy data in many shards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fenster.data.prepare.split.SHARD_TOKENS", 2000)
        patch.setattr("fenster.data.prepare.encode.CHUNK", 50)
        made = prepare(toy_config.model_copy(update={"output": tmp_path_factory.mktemp("sharded") / "data"}))
    assert len(made.prepared.split("train").shards) >= 5
    return made.prepared
