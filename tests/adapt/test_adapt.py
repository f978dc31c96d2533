"""A model adapted to somebody's own translations, from corpus to model folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fenster.adapt import adapt, corpus
from fenster.adapt.corpus import AdaptationCorpus, as_tsv, pairs_in, read_own, read_replayed
from fenster.cli import main
from fenster.data.corpora.synthetic import generate
from fenster.data.dataset import PreparedData
from fenster.decode.translator import Translator
from fenster.document import ParallelDocument
from fenster.errors import ConfigError, FensterError, InputError
from fenster.model.description import read_description
from fenster.train.trainer import train
from tests.helpers.training import TINY, make

PAIRS = [
    pair
    for document in generate(60, seed=3)
    for pair in zip(document.pair.source.texts, document.pair.target.texts, strict=True)
]


def texts(documents: tuple[ParallelDocument, ...]) -> list[tuple[str, str]]:
    return [pair for one in documents for pair in zip(one.source.texts, one.target.texts, strict=True)]


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "memory.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), encoding="utf-8")
    return path


@pytest.fixture
def model(toy: PreparedData, tmp_path: Path) -> Path:
    """Hardly trained, so that anything helps."""
    settings: dict[str, Any] = {
        "data": toy.folder,
        "output": tmp_path / "run",
        "context": {"kind": "document"},
        "model": TINY,
        "batch": {"tokens": 600},
        "optimizer": {"warmup": 10, "lr": 2e-3},
        "stop": {"updates": 5},
        "valid": {"every": 5},
        "device": "cpu",
    }
    return train(make(settings)).folder / "model"


def test_a_memory_is_split_by_blocks_and_nothing_is_lost(memory: Path) -> None:
    own = read_own([memory])
    assert pairs_in(own.held_out) >= len(PAIRS) // 10
    assert all(len(document) <= corpus._BLOCK for document in own.held_out)
    held_out = set(texts(own.held_out))
    assert not held_out & set(texts(own.train)), "what is held out is not trained on"
    assert held_out | set(texts(own.train)) == set(PAIRS)


def test_documents_are_held_out_whole(tmp_path: Path) -> None:
    path = tmp_path / "memory.tsv"
    documents = ["".join(f"{number}\tsource {number}.{n}\ttarget {n}\n" for n in range(8)) for number in range(40)]
    path.write_text("\n".join(documents), encoding="utf-8")
    own = read_own([path])
    assert {len(document) for document in own.held_out} == {8}
    assert len(own.held_out) == 4 and len(own.train) == 36
    again = tmp_path / "again.tsv"
    again.write_text(as_tsv(own.train), encoding="utf-8")
    assert texts(read_replayed([again], 100).train), "what we write can be read"


def test_a_large_document_is_not_held_out_whole(tmp_path: Path) -> None:
    sizes = [50] * 9 + [3000]
    documents = [
        "".join(f"{number}\ts {number}.{n}\tt {number}.{n}\n" for n in range(size))
        for number, size in enumerate(sizes)
    ]
    (tmp_path / "memory.tsv").write_text("\n".join(documents), encoding="utf-8")
    own = read_own([tmp_path / "memory.tsv"])
    assert 300 <= pairs_in(own.held_out) < 340 and pairs_in(own.train) > 3000


def test_too_little_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory.tsv"
    path.write_text("a\tb\n" * 99, encoding="utf-8")
    with pytest.raises(InputError, match="99 translations, too few"):
        read_own([path])
    with pytest.raises(InputError, match="99 pairs of general text"):
        read_replayed([path], 100)


@pytest.mark.slow
@pytest.mark.parametrize("replay", [False, True])
def test_a_model_is_adapted(
    memory: Path, model: Path, tmp_path: Path, replay: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fenster.adapt.settings._LR", 5e-3)
    output = tmp_path / "mine"
    result = adapt([memory], output, model, general=[memory] if replay else [], device="cpu")
    assert [comparison.name for comparison in result.comparisons] == ["own text", "general text"][: 1 + replay]
    assert result.comparisons[0].is_better
    assert not output.with_name("mine.work").exists(), "the user's text does not stay behind"
    assert read_description(output).bits == 8
    config = read_description(output).training["config"]
    assert (config["optimizer"]["anchor"] > 0) != replay
    assert "Before and after" in (output / "README.md").read_text(encoding="utf-8")
    assert len(Translator.load(output, device="cpu").translate(["Here is the lamp."]).texts) == 1
    with pytest.raises(ConfigError, match="cannot overwrite itself"):
        adapt([memory], output, output, device="cpu")


def test_a_model_that_is_no_better_is_not_written(
    memory: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fenster.adapt.settings._LR", 1e-9)
    with pytest.raises(FensterError, match="no better on held-out text"):
        adapt([memory], tmp_path / "mine", model, minutes=0.01, device="cpu")
    assert not (tmp_path / "mine").exists()
    assert (tmp_path / "mine.work" / "run" / "model").is_dir(), "it can still be looked at"


def test_work_of_other_text_is_not_continued(memory: Path, tmp_path: Path) -> None:
    from fenster.adapt import _lay_out

    work = tmp_path / "mine.work"
    own = read_own([memory])
    _lay_out(work, {"own": own}, {"weights": "1"})
    (work / "run").mkdir()
    _lay_out(work, {"own": own}, {"weights": "1"})
    assert (work / "run").is_dir(), "the same text resumes"
    _lay_out(work, {"own": AdaptationCorpus(own.train[1:], own.held_out)}, {"weights": "1"})
    assert not (work / "run").exists()
    (work / "key").unlink()
    with pytest.raises(InputError, match="was not made by `fenster adapt`"):
        _lay_out(work, {"own": own}, {"weights": "1"})


def test_the_command(memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(SystemExit) as ended:
        main(["adapt", str(memory), "-o", str(tmp_path / "mine")])
    assert ended.value.code == 2 and "not a model folder" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(SystemExit) as ended:
        main(["adapt", "-o", str(tmp_path / "new")])
    assert ended.value.code == 2
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["adapt", str(memory), "-o", str(tmp_path / "new"), "--beam", "0"])
    assert ended.value.code == 2 and "beam" in capsys.readouterr().err and not (tmp_path / "new").exists()
