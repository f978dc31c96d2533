"""Symbols in training data: placeholders, registers, versions of documents."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fenster.config import check
from fenster.data.context import DocumentContext
from fenster.data.corpora.synthetic import generate
from fenster.data.dataset import PreparedData
from fenster.data.examples import ExampleIndex
from fenster.data.prepare import prepare
from fenster.data.prepare.config import PrepareConfig
from fenster.data.text import normalise
from fenster.data.tokenizer import Tokenizer, TokenizerConfig, learn
from fenster.errors import ConfigError
from fenster.language.protected_text import Placeholder

SENTENCES = [text for d in generate(60, seed=1) for side in (d.pair.source, d.pair.target) for text in side.texts]
TOKENIZER = learn(SENTENCES, TokenizerConfig(vocab_size=500, symbols=True))
LINES = [
    ("mail", "Can you write to a@b.de?", "Können Sie an a@b.de schreiben?"),
    ("mail", "It costs 1.5 euros.", "Es kostet 1,5 Euro."),
    ("friend", "Can you come?", "Kannst du kommen?"),
    ("tale", "It rained.", "Es regnete."),
]


@given(st.lists(st.one_of(st.text(max_size=8), st.integers(0, 15)), max_size=6))
def test_placeholders_keep_their_place(parts: list[str | int]) -> None:
    """Whatever stands around them: text with placeholders comes back as it was."""
    marked: list[str | Placeholder] = []
    for part in parts:
        if isinstance(part, int):
            marked.append(Placeholder("x", part))
        elif text := normalise(f"x{part}x".replace("\x00", ""))[1:-1]:
            if marked and isinstance(marked[-1], str):
                continue
            marked.append(text)
    if marked and isinstance(marked[0], str):
        marked[0] = marked[0].lstrip(" ")  # a text is normalised
    if marked and isinstance(marked[-1], str):
        marked[-1] = marked[-1].rstrip(" ")
    marked = [part for part in marked if part]
    assert TOKENIZER.decode_marked(TOKENIZER.encode_marked(tuple(marked))) == marked


def test_text_without_placeholders_is_encoded_as_ever() -> None:
    for text in SENTENCES[:50]:
        assert np.array_equal(TOKENIZER.encode_marked((text,)), TOKENIZER.encode([text])[0])


def test_text_never_becomes_a_symbol() -> None:
    ids, _ = TOKENIZER.encode(["<x0> <n1> <formal> <sep>"])
    assert ids.min() >= TOKENIZER.n_symbols


def test_symbols_are_there_only_if_asked_for() -> None:
    plain = learn(SENTENCES, TokenizerConfig(vocab_size=450))
    assert plain.placeholders == {} and plain.registers == {} and plain.n_symbols == 6
    assert len(TOKENIZER.placeholders) == 40 and list(TOKENIZER.registers) == ["formal", "informal"]
    assert Tokenizer(TOKENIZER.model).n_symbols == 48


def corpus(path: Path, lines: list[tuple[str, str, str]]) -> Path:
    previous, text = lines[0][0], ""
    for name, source, target in lines:
        text += ("\n" if name != previous else "") + f"{name}\t{source}\t{target}\n"
        previous = name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def config(tmp_path: Path) -> PrepareConfig:
    more = [(f"m{n}", source, target) for n, (source, target) in enumerate(zip(SENTENCES, SENTENCES, strict=True))]
    return check(
        {
            "output": tmp_path / "out",
            "splits": {
                "train": [
                    {"paths": str(corpus(tmp_path / "a.tsv", LINES)), "name": "a", "weight": 2},
                    {"paths": str(corpus(tmp_path / "b.tsv", more)), "name": "b"},
                ],
                "valid": str(corpus(tmp_path / "v.tsv", LINES)),
            },
            "tokenizer": {"vocab_size": 500, "symbols": True},
            "augment": {"versions": 2, "spans": 1.0, "registers": 1.0},
            "workers": 1,
        },
        PrepareConfig,
    )


def test_versions_of_documents(config: PrepareConfig) -> None:
    prepared = prepare(config).prepared
    record, valid = prepared.manifest.splits["train"], prepared.manifest.splits["valid"]
    assert record.read_sentences == record.sentences, "versions are not counted as sentences"
    assert valid.shards[0].documents == 3, "only training data has versions"
    assert [(one.name, one.weight) for one in prepared.manifest.corpora] == [("a", 2.0), ("b", 1.0)]
    assert prepared.manifest.languages == ("en", "de")
    index = ExampleIndex.build(prepared.split("train"), DocumentContext())
    assert index.groups is not None and np.all(np.unique(index.groups, return_counts=True)[1] == 3)
    texts = _texts(prepared, index)
    assert texts["mail"][0] == LINES[0][1]
    for marked in texts["mail"][1:]:
        assert marked.startswith("<formal> Can you write to <x"), marked
    assert texts["friend"][1].startswith("<informal>")


def _texts(prepared: PreparedData, index: ExampleIndex) -> dict[str, list[str]]:
    """The first source sentence of every version of each document."""
    texts: dict[str, list[str]] = {}
    for number in range(len(index)):
        example = index.example(number)
        pieces = prepared.tokenizer.pieces(example.source.ids[: example.source.starts[1] - 1])
        texts.setdefault(example.name, []).append("".join(pieces).replace("\u2581", " ").strip())
    return texts


def test_what_a_version_holds_does_not_depend_on_workers(config: PrepareConfig, tmp_path: Path) -> None:
    one = prepare(config).prepared
    two = prepare(config.model_copy(update={"output": tmp_path / "two", "workers": 2})).prepared
    assert one.manifest.splits == two.manifest.splits  # hashes of all files


def test_variants_of_a_source_are_versions_of_one(config: PrepareConfig, tmp_path: Path) -> None:
    lines = [("1", "Come here!", "Komm her!"), ("2", "It rained.", "Es regnete."), ("3", "Come here!", "Kommt her!")]
    first = config.splits["train"][0].model_copy(
        update={"paths": (corpus(tmp_path / "c.tsv", lines),), "variants": True}
    )
    splits = config.splits | {"train": (first, config.splits["train"][1])}
    changed = config.model_copy(
        update={"splits": splits, "augment": config.augment.model_copy(update={"versions": 0})}
    )
    shard = prepare(changed).prepared.split("train").shards[0]
    assert shard.groups is not None and shard.groups[:4].tolist() == [0, 1, 0, 2]


def test_a_cap_leaves_documents_out(config: PrepareConfig) -> None:
    first = config.splits["train"][0].model_copy(update={"cap": 3})
    splits = config.splits | {"train": (first, config.splits["train"][1])}
    record = prepare(config.model_copy(update={"splits": splits})).prepared.manifest.splits["train"]
    assert record.read_sentences == 3 + len(SENTENCES)


def test_symbols_are_needed(config: PrepareConfig) -> None:
    values = config.model_dump(mode="json")
    with pytest.raises(ConfigError, match="needs symbols in the vocabulary"):
        check({**values, "tokenizer": {"vocab_size": 500}}, PrepareConfig)
    values["splits"]["train"][1]["name"] = "a"
    with pytest.raises(ConfigError, match="two training corpora are called 'a'"):
        check(values, PrepareConfig)
