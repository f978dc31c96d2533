"""End to end: what a window system learns from documents and a sentence-level one cannot."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fenster.config import check
from fenster.data.corpora.jsonl import write_jsonl
from fenster.data.corpora.synthetic import GeneratedDocument, Kind, generate
from fenster.data.dataset import PreparedData
from fenster.data.examples import concatenate
from fenster.data.prepare import prepare
from fenster.data.prepare.config import PrepareConfig
from fenster.data.tokenizer import BOS_ID, EOS_ID, SEP_ID
from fenster.model.layout import Layout
from fenster.model.model_folder import LoadedModel, load_model
from fenster.train.trainer import train
from tests.helpers.training import make

NEAR = (1, 3)  # sentences from the deciding to the depending one: what so small a model learns in a minute
TEST = list(generate(60, seed=3, distance=NEAR))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    folder = tmp_path_factory.mktemp("learning")
    for name, count, seed in (("train", 800, 1), ("valid", 20, 2)):
        write_jsonl(
            (document.pair for document in generate(count, seed=seed, distance=NEAR)), [folder / f"{name}.jsonl"]
        )
    splits = {name: str(folder / f"{name}.jsonl") for name in ("train", "valid")}
    config = {"output": folder / "prepared", "splits": splits, "tokenizer": {"vocab_size": 700}, "workers": 2}
    return prepare(check(config, PrepareConfig)).prepared


def greedy(loaded: LoadedModel, sources: list[list[str]]) -> list[list[str]]:
    """Each source (some sentences) as as many target sentences, token by token."""
    sides = [concatenate([loaded.tokenizer.encode([line])[0] for line in lines]) for lines in sources]
    packed = Layout.from_sentence_lengths([(side.starts[1:] - side.starts[:-1]).tolist() for side in sides])
    ids = torch.from_numpy(np.concatenate([side.ids for side in sides])).long()
    out: list[list[int]] = [[] for _ in sides]
    with torch.inference_mode():
        state = loaded.model.begin(loaded.model.encode(ids, packed), packed, torch.arange(len(sides)))
        previous = torch.full((len(sides),), BOS_ID)
        for _ in range(3 * packed.longest):
            hidden, state = loaded.model.step(previous, state)
            previous = loaded.model.logits(hidden).argmax(-1)
            for row, token in zip(out, previous.tolist(), strict=True):
                if EOS_ID not in row:
                    row.append(token)
            if all(EOS_ID in row for row in out):
                break
    texts = []
    for row, lines in zip(out, sources, strict=True):
        parts: list[list[int]] = [[]]
        for token in row:
            if token == SEP_ID:
                parts.append([])
            elif token != EOS_ID:
                parts[-1].append(token)
        found = [loaded.tokenizer.decode(part) for part in parts]
        texts.append((found + [""] * len(lines))[: len(lines)])
    return texts


def accuracy(documents: list[GeneratedDocument], translations: list[list[str]]) -> dict[Kind, float]:
    right: dict[Kind, list[bool]] = {"register": [], "pronoun": []}
    for document, lines in zip(documents, translations, strict=True):
        for decision in document.decisions:
            right[decision.kind].append(decision.right(lines[decision.segment]))
    return {kind: sum(found) / len(found) for kind, found in right.items()}


@pytest.mark.slow
def test_a_window_model_learns_what_a_sentence_model_cannot(data: PreparedData, tmp_path: Path) -> None:
    shared: dict[str, Any] = {
        "data": data.folder,
        "batch": {"tokens": 1600},
        "optimizer": {"lr": 4e-3, "warmup": 100},
        "stop": {"updates": 500, "patience": None},
        "valid": {"every": 250},
        "checkpoint": {"every": 1000},
        "device": "cpu",
    }
    size = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 64, "ffn": 256, "heads": 4, "dropout": 0.0}
    window = {**size, "positions": "relative", "attention": {"kind": "window", "window": 16}}
    train(make(shared, output=tmp_path / "window", context={"kind": "document"}, model=window))
    train(make(shared, output=tmp_path / "sentence", model=size))
    sources = [[segment.text for segment in document.pair.source.segments] for document in TEST]
    documents = greedy(load_model(tmp_path / "window" / "model"), sources)
    one_by_one = greedy(load_model(tmp_path / "sentence" / "model"), [[line] for lines in sources for line in lines])
    lines = iter(found[0] for found in one_by_one)
    with_context = accuracy(TEST, documents)
    without = accuracy(TEST, [[next(lines) for _ in source] for source in sources])
    # The best possible without context: 1/2 and 1/3. Both systems must have learned to translate at all.
    assert 0.35 < without["register"] < 0.65 and 0.2 < without["pronoun"] < 0.5
    assert with_context["register"] > 0.75 and with_context["pronoun"] > 0.65
