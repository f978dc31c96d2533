"""The settings of an adaptation: small steps from the model's weights, often validated, until they no longer help."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from fenster.config import check
from fenster.data.dataset import TOKENIZER
from fenster.data.manifest import Manifest
from fenster.data.prepare.config import PrepareConfig
from fenster.data.tokenizer import Tokenizer
from fenster.io.files import atomic_path
from fenster.io.machine import find_device
from fenster.model.description import Description
from fenster.train.config import TrainConfig

_TOKENS = {"cpu": 2000, "cuda": 8000}  # of a batch
_LR = 1e-4
_ANCHOR = 20.0  # towards the old weights, where no general text is replayed
_EPOCHS = 8
_PATIENCE = 3
_VALIDATIONS_PER_EPOCH = 2


def prepare_config(description: Description, model: Path, work: Path, names: Sequence[str]) -> PrepareConfig:
    """Prepared data from the TSV files in `work`, of which `names` are the stems, the user's own first."""
    tokenizer = model / TOKENIZER
    settings: dict[str, Any] = {
        "output": work / "data",
        "splits": {
            "train": [{"name": name, "paths": [work / f"{name}.train.tsv"]} for name in names],
            "valid": [{"paths": [work / f"{names[0]}.valid.tsv"]}],
        },
        "tokenizer": {"model": tokenizer},
        # What the model knows of protected text and registers is kept alive.
        "augment": {"versions": 1 if Tokenizer.load(tokenizer).placeholders else 0},
        "filters": {"max_tokens": 250, "max_ratio": 4.0, "bad_text": "remove"},
        "max_sentence_tokens": 10_000,
    }
    if description.languages is not None:
        settings["languages"] = description.languages
    return check(settings, PrepareConfig)


def train_config(
    description: Description, model: Path, work: Path, manifest: Manifest, *, minutes: float | None, device: str
) -> TrainConfig:
    """Training on what was prepared in `work`; with general text among it the old weights need no anchor."""
    kind = find_device(device)
    tokens = _TOKENS[kind]
    updates = manifest.splits["train"].target_tokens // tokens + 1  # of an epoch
    between = max(1, updates // _VALIDATIONS_PER_EPOCH)
    settings: dict[str, Any] = {
        "data": work / "data",
        "output": work / "run",
        "warm_start": model,
        "context": description.context.model_dump(),
        "model": description.model.model_dump(),
        "batch": {"tokens": tokens},
        "optimizer": {"lr": _LR, "warmup": 20, "anchor": _ANCHOR if len(manifest.corpora) == 1 else 0.0},
        "stop": {"epochs": _EPOCHS, "updates": None, "patience": _PATIENCE, "minutes": minutes},
        "valid": {"every": between, "tokens": tokens},
        "average": {"ema": 0.9},
        "checkpoint": {"every": between},
        "log": {"every": max(1, updates // 4)},
        "card": {"licence": description.licence, "note": "Adapted to a user's own translations."},
        "device": device,
        "precision": "auto" if kind == "cuda" else _precision(work),
    }
    return check(settings, TrainConfig)


def _precision(work: Path) -> str:
    """What this CPU is faster in, measured once: a call that resumes must not choose again."""
    kept = work / "precision"
    if not kept.is_file():
        with atomic_path(kept) as temporary:
            temporary.write_text(faster_precision(), encoding="utf-8")
    return kept.read_text(encoding="utf-8")


def faster_precision() -> str:
    """The precision in which this CPU multiplies matrices faster: some compute in bfloat16, others emulate it."""
    seconds = {}
    for name in ("float32", "bfloat16"):
        matrix = torch.ones(512, 512, dtype=getattr(torch, name))
        torch.mm(matrix, matrix)
        began = time.perf_counter()
        for _ in range(5):
            torch.mm(matrix, matrix)
        seconds[name] = time.perf_counter() - began
    return min(seconds, key=lambda name: seconds[name])
