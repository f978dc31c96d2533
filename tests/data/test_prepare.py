import errno
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fenster.config import check
from fenster.data.corpora.jsonl import write_jsonl
from fenster.data.corpora.synthetic import GeneratedDocument
from fenster.data.corpora.tsv import write_tsv
from fenster.data.dataset import PreparedData
from fenster.data.manifest import Manifest
from fenster.data.prepare import prepare
from fenster.data.prepare.config import PrepareConfig
from fenster.data.prepare.filters import Removal
from fenster.errors import FensterError, InputError
from tests.helpers.data import pair
from tests.helpers.waiting import DEADLINE, wait_until


def config_for(toy_config: PrepareConfig, output: Path, **changes: object) -> PrepareConfig:
    return check({**toy_config.model_dump(), "output": output, **changes}, PrepareConfig)


def test_ids_are_those_of_the_text(toy: PreparedData, toy_documents: list[GeneratedDocument]) -> None:
    shard = toy.split("train").shards[0]
    assert shard.names == [document.pair.id for document in toy_documents[:100]]
    number = 0
    for document in toy_documents[:100]:
        for source, target in zip(document.pair.source.texts, document.pair.target.texts, strict=True):
            assert toy.tokenizer.decode(shard.source.sentence(number)) == source
            assert toy.tokenizer.decode(shard.target.sentence(number)) == target
            number += 1
    assert number == toy.manifest.splits["train"].sentences


def test_manifest_counts(toy: PreparedData, toy_documents: list[GeneratedDocument]) -> None:
    split = toy.manifest.splits["train"]
    assert (split.documents, split.read_documents) == (100, 100)
    assert split.read_sentences == sum(len(d.pair) for d in toy_documents[:100])
    shard = toy.split("train").shards[0]
    assert split.target_tokens == len(shard.target.ids)
    ratios = []
    for begin, end in zip(shard.document_starts[:-1], shard.document_starts[1:], strict=True):
        tokens = [side.starts[end] - side.starts[begin] + end - begin for side in (shard.source, shard.target)]
        ratios.append(tokens[0] / tokens[1])  # toy documents are far below the limit: one part each
    assert toy.manifest.train_ratio.macro == pytest.approx(np.mean(ratios))
    assert toy.manifest.train_ratio.parts == 100


@pytest.mark.slow
def test_several_processes_and_shards_give_the_same(
    toy: PreparedData, toy_config: PrepareConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fenster.data.prepare.encode.CHUNK", 50)
    monkeypatch.setattr("fenster.data.prepare.split.SHARD_TOKENS", 2000)
    other = prepare(config_for(toy_config, tmp_path / "p", workers=2)).prepared
    shards = other.split("train").shards
    assert len(shards) > 2
    whole = toy.split("train").shards[0]
    assert np.array_equal(np.concatenate([shard.source.ids for shard in shards]), whole.source.ids)
    assert [name for shard in shards for name in shard.names] == whole.names
    assert other.manifest.train_ratio == toy.manifest.train_ratio
    assert other.manifest.tokenizer_sha256 == toy.manifest.tokenizer_sha256


def test_again_is_a_no_op_and_other_settings_are_refused(toy_config: PrepareConfig, tmp_path: Path) -> None:
    config = config_for(toy_config, tmp_path / "p")
    assert prepare(config).made
    stamp = (tmp_path / "p" / "manifest.json").stat().st_mtime_ns
    assert not prepare(config).made
    assert not prepare(config.model_copy(update={"workers": 2})).made  # workers do not change the result
    assert (tmp_path / "p" / "manifest.json").stat().st_mtime_ns == stamp
    other = config_for(toy_config, tmp_path / "p", tokenizer={"vocab_size": 480})
    with pytest.raises(FensterError, match="exists already, made from different inputs or settings"):
        prepare(other)
    assert prepare(other, force=True).prepared.manifest.vocab_size == 480
    assert [path.name for path in tmp_path.iterdir()] == ["p"]


def test_a_changed_input_is_noticed(toy_config: PrepareConfig, tmp_path: Path) -> None:
    corpus = tmp_path / "c.tsv"
    write_tsv([pair("d", ("one two", "eins zwei"), ("three", "drei"))], [corpus])
    tokenizer = {"model": toy_config.output / "tokenizer.model"}
    prepare(toy_config)
    config = config_for(toy_config, tmp_path / "p", splits={"train": str(corpus)}, tokenizer=tokenizer)
    prepare(config)
    corpus.write_text(corpus.read_text().replace("three", "four"))
    with pytest.raises(FensterError, match="exists already"):
        prepare(config)


def test_a_folder_of_somebody_else_is_never_replaced(toy_config: PrepareConfig, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("years of work")
    for beside in (None, "tokenizer.model", "manifest.json"):
        if beside is not None:
            (tmp_path / "thesis" / beside).write_text("not ours either")
        with pytest.raises(FensterError, match=r"did not make, such as chapter1\.tex"):
            prepare(config_for(toy_config, tmp_path / "thesis"), force=True)
    assert (tmp_path / "thesis" / "chapter1.tex").exists()


def test_an_empty_folder_may_be_filled_and_a_file_may_not(toy_config: PrepareConfig, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert prepare(config_for(toy_config, tmp_path / "empty")).made
    (tmp_path / "file").write_text("x")
    with pytest.raises(FensterError, match="is not a folder"):
        prepare(config_for(toy_config, tmp_path / "file"), force=True)


def test_strangers_beside_the_output_do_not_matter(toy_config: PrepareConfig, tmp_path: Path) -> None:
    (tmp_path / ".p.partial-foo").mkdir()
    (tmp_path / ".p.partial-999999").write_text("")
    (tmp_path / f".p.partial-{os.getpid()}").mkdir()  # a killed process had our number, as in a container
    assert prepare(config_for(toy_config, tmp_path / "p")).made


def test_file_names_in_a_folder_corpus_matter(toy: PreparedData, toy_config: PrepareConfig, tmp_path: Path) -> None:
    (tmp_path / "f" / "a").mkdir(parents=True)
    for code in ("en", "de"):
        (tmp_path / "f" / "a" / f"a_1.{code}").write_text("text\n")
    tokenizer = {"model": toy.folder / "tokenizer.model"}
    config = config_for(toy_config, tmp_path / "p", splits={"train": str(tmp_path / "f")}, tokenizer=tokenizer)
    prepare(config)
    for code in ("en", "de"):
        (tmp_path / "f" / "a" / f"a_1.{code}").rename(tmp_path / "f" / "a" / f"a_9.{code}")
    with pytest.raises(FensterError, match="exists already"):
        prepare(config)


FILTERED = [
    pair(
        "a",
        ("keep one", "eins"),
        ("", "leer"),
        ("keep two", "zwei"),
        ("In the test SET.", "Im Testsatz."),
        ("end", "Ende"),
    ),
    pair("b", ("long " * 30, "kurz"), ("fine", "gut")),
    pair("c", ("word " * 12, "x"), ("also fine", "auch gut")),
    pair("d", ("bell \x07", "Glocke")),
    pair("e", ("untouched", "heil"), ("really", "wirklich")),
]


@pytest.mark.parametrize(
    ("after", "documents", "sentences"),
    [
        ("cut", ["a", "a#2", "a#3", "b", "c", "e"], [1, 1, 1, 1, 1, 2]),
        ("join", ["a", "b", "c", "e"], [3, 1, 1, 2]),
        ("drop", ["e"], [2]),
    ],
)
def test_filters_count_everything(
    toy: PreparedData,
    toy_config: PrepareConfig,
    tmp_path: Path,
    after: str,
    documents: list[str],
    sentences: list[int],
) -> None:
    write_tsv(FILTERED, [tmp_path / "train.tsv"])
    write_jsonl([pair("t", ("in the test set.", "Im Testsatz."))], [tmp_path / "test.jsonl"])
    filters = {
        "max_tokens": 60,
        "max_ratio": 3,
        "held_out": str(tmp_path / "test.jsonl"),
        "bad_text": "remove",
        "after_removal": after,
    }
    config = config_for(
        toy_config,
        tmp_path / "p",
        splits={"train": str(tmp_path / "train.tsv")},
        tokenizer={"model": toy.folder / "tokenizer.model"},
        filters=filters,
    )
    prepared = prepare(config).prepared
    split, shard = prepared.manifest.splits["train"], prepared.split("train").shards[0]
    assert shard.names == documents
    assert np.diff(shard.document_starts).tolist() == sentences
    removed = dict(split.removed)
    assert removed.pop("dropped_document", 0) == (5 if after == "drop" else 0)
    assert removed == {"bad_text": 1, "empty": 1, "held_out": 1, "max_tokens": 1, "max_ratio": 1}
    assert split.read_sentences == split.sentences + sum(split.removed.values())
    assert split.documents_dropped == (4 if after == "drop" else 1)
    assert split.documents_cut == (1 if after == "cut" else 0)


def test_removal_of_nothing_and_of_everything() -> None:
    sizes = np.array([2, 1])
    nothing = Removal.apply(np.zeros(3, np.uint8), sizes, "cut")
    assert (nothing.sizes.tolist(), nothing.cut, nothing.dropped) == ([2, 1], 0, 0)
    everything = Removal.apply(np.ones(3, np.uint8), sizes, "cut")
    assert (everything.sizes.tolist(), everything.dropped) == ([], 2)


def test_test_sets_are_never_filtered(toy: PreparedData, toy_config: PrepareConfig, tmp_path: Path) -> None:
    write_tsv(FILTERED, [tmp_path / "test.tsv"])
    splits = {"train": toy_config.splits["train"], "test": str(tmp_path / "test.tsv")}
    tokenizer = {"model": toy.folder / "tokenizer.model"}
    changes = {"splits": splits, "tokenizer": tokenizer, "filters": {"bad_text": "remove", "max_tokens": 60}}
    record = prepare(config_for(toy_config, tmp_path / "p", **changes)).prepared.manifest.splits["test"]
    assert (record.sentences, record.removed, record.kept_bad_text) == (12, {}, 1)


@pytest.mark.parametrize(
    ("documents", "changes", "message"),
    [
        (FILTERED, {}, r"c\.tsv:13: source segment 1 of document 'd' holds control character U\+0007"),
        (FILTERED[:2], {"max_sentence_tokens": 40}, r"c\.tsv:7: segment 1 of document 'b' has \d+ tokens"),
    ],
)
def test_faults_in_training_data_are_named(
    toy: PreparedData,
    toy_config: PrepareConfig,
    tmp_path: Path,
    documents: list,
    changes: dict[str, object],
    message: str,
) -> None:
    write_tsv(documents, [tmp_path / "c.tsv"])
    tokenizer = {"model": toy.folder / "tokenizer.model"}
    settings = {"splits": {"train": str(tmp_path / "c.tsv")}, "tokenizer": tokenizer, **changes}
    with pytest.raises(InputError, match=message):
        prepare(config_for(toy_config, tmp_path / "p", **settings))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.tsv"]


@pytest.mark.parametrize("name", ["train/00000/source_ids.npy", "valid/00000/names.json", "tokenizer.model"])
def test_damage_is_found(toy_config: PrepareConfig, tmp_path: Path, name: str) -> None:
    prepared = prepare(config_for(toy_config, tmp_path / "p")).prepared
    path = prepared.folder / name
    body = bytearray(path.read_bytes())
    body[-3] ^= 1
    path.write_bytes(bytes(body))
    with pytest.raises(InputError, match=re.escape(path.name)):
        PreparedData(prepared.folder)
    path.unlink()
    with pytest.raises(InputError, match=r"missing|no such"):
        PreparedData(prepared.folder)


def test_a_changed_manifest_is_found(toy_config: PrepareConfig, tmp_path: Path) -> None:
    folder = prepare(config_for(toy_config, tmp_path / "p")).prepared.folder
    path = folder / "manifest.json"
    body = json.loads(path.read_text())
    body["splits"]["train"]["documents"] += 1
    path.write_text(json.dumps(body))
    with pytest.raises(InputError, match="checksum mismatch"):
        Manifest.load(folder)
    path.write_text("{")
    with pytest.raises(InputError, match="damaged manifest"):
        Manifest.load(folder)


def test_a_full_disk_leaves_nothing(
    toy_config: PrepareConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(FensterError, match="No space left on device") as error:
        prepare(config_for(toy_config, tmp_path / "p"))
    assert "free some space" in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_killed_run_is_cleared_away_by_the_next(toy_config: PrepareConfig, tmp_path: Path) -> None:
    """kill -9 while it works: no output folder, and the next run succeeds and removes the remains."""
    code = (
        "import sys, time, json; from pathlib import Path\n"
        "import fenster.data.prepare as p, fenster.data.prepare.split as s\n"
        "from fenster.data.prepare.config import PrepareConfig\n"
        "from fenster.config import check\n"
        "save = s.Shard.save\n"
        "def slow(self, folder):\n    record = save(self, folder); print('saved', flush=True); time.sleep(60)\n"
        "s.Shard.save = slow\n"
        "p.prepare(check(json.loads(sys.argv[1]), PrepareConfig))\n"
    )
    config = config_for(toy_config, tmp_path / "p")
    child = subprocess.Popen(
        [sys.executable, "-c", code, json.dumps(config.model_dump(mode="json"))], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "saved\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    left = [path.name for path in tmp_path.iterdir()]
    assert left == [f".p.partial-{child.pid}"]
    prepare(config)
    assert [path.name for path in tmp_path.iterdir()] == ["p"]


def test_ctrl_c_leaves_nothing(toy_config: PrepareConfig, tmp_path: Path) -> None:
    body = toy_config.model_dump(mode="json")
    body |= {"output": str(tmp_path / "p"), "workers": 2, "tokenizer": {"vocab_size": 450}}
    (tmp_path / "c.yaml").write_text(json.dumps(body))
    command = [sys.executable, "-m", "fenster", "prepare", str(tmp_path / "c.yaml")]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    wait_until(lambda: child.poll() is not None or list(tmp_path.glob(".p.partial-*")), pause=0.005)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=DEADLINE)
    # Either it was caught at work, or it was quicker than the signal: never something in between.
    if child.returncode == 130:
        assert "interrupted" in errors
        assert sorted(path.name for path in tmp_path.iterdir()) == ["c.yaml"]
    else:
        assert child.returncode == 0
        PreparedData(tmp_path / "p")
