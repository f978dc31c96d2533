"""One file and one line: a toy part of every kind, each registered in one place, goes through everything.

What is defined here is all that a new part needs. A new file would hold the class, and the registry one more line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from torch import Tensor

import fenster
from fenster.cli import main
from fenster.data.corpora import FORMATS, Format
from fenster.data.corpora.synthetic import generate
from fenster.data.corpora.tsv import read_tsv
from fenster.data.tokenizer import Ids
from fenster.decode.files import DOCUMENT_FORMATS, DocumentFormat, FileOptions
from fenster.decode.files.text import TextDocument, split_lines
from fenster.decode.result import Translated
from fenster.decode.search import LengthConstraints, SearchRequest
from fenster.decode.strategies import STRATEGIES, SourceDocument
from fenster.decode.strategies.sentence import SentenceSession, SentenceStrategy
from fenster.document import ParallelDocument
from fenster.errors import ConfigError
from fenster.evaluate.metrics import METRICS, Measurement, Metric
from fenster.evaluate.metrics.form_f1 import FormCounter
from fenster.evaluate.result import Result
from fenster.evaluate.tagging import TAGGERS
from fenster.evaluate.tagging.tokens import Tagged
from fenster.evaluate.test_set import TranslatedTestSet
from fenster.io.files import FileSource, TextFiles, atomic_text
from fenster.model.attention.alignment import ALIGNMENTS, Alignment, TargetTokens
from fenster.model.attention.alignment.base import Integers, Sequences
from fenster.model.attention.backends import BACKENDS, Backend
from fenster.model.attention.backends.reference import reference_attention
from fenster.model.attention.mask import AttentionMask
from fenster.model.attention.variants import VARIANTS, AttentionConfig, ReceptiveField
from fenster.model.attention.variants.window import Window, WindowConfig
from fenster.model.layout import Layout
from fenster.model.model_folder import LoadedModel


class NarrowConfig(WindowConfig):
    kind: Literal["narrow"] = "narrow"  # type: ignore[assignment]


class Narrow(Window):
    """Attention variant: windows of half the width in the encoder."""

    Config = NarrowConfig
    label = "narrow"
    default_strategy = "one-by-one"

    def encoder(self, source: Layout) -> tuple[AttentionMask, ...]:
        return (AttentionMask(source, source, window=self.window // 2),)

    def receptive_field(self, encoder_layers: int, decoder_layers: int) -> ReceptiveField:
        return super().receptive_field(encoder_layers, decoder_layers)  # wider than needed, which is always safe


class Middle(Alignment):
    """Alignment: the middle of the source sentence."""

    def center(self, tokens: TargetTokens, source: Sequences) -> Integers:
        last = source.starts.shape[1] - 1
        start = source.starts[tokens.sequence, tokens.sentence.clip(max=last)]
        end = source.starts[tokens.sequence, (tokens.sentence + 1).clip(max=last)]
        return (start + end) // 2

    def lowest(self, position: int, start: int) -> int:
        return start


def plain_attention(q: Tensor, k: Tensor, v: Tensor, mask: AttentionMask, relative: object) -> Tensor:
    """Attention backend: the reference by another name."""
    return reference_attention(q, k, v, mask, relative)  # type: ignore[arg-type]


class OneByOne(SentenceStrategy):
    """Decoding strategy: each sentence alone, one request at a time, of at most five tokens."""

    name = "one-by-one"

    def begin(self, document: SourceDocument) -> SentenceSession:
        return OneByOneSession(self, document)


class OneByOneSession(SentenceSession):
    def requests(self, room: int) -> list[SearchRequest]:
        return super().requests(min(room, 1))

    def _request(self, number: int, sentence: Ids) -> SearchRequest:
        return SearchRequest([sentence], (), LengthConstraints((5,), min_tokens=1), number=number)


class Length(Metric):
    """Metric: hypothesis length in percent of the reference's."""

    label = "length"

    def measure(self, test_set: TranslatedTestSet, counter: FormCounter | None) -> list[Measurement]:
        pairs = zip(test_set.outputs, test_set.references[0], strict=True)
        rows = np.array([[len(output.split()), len(reference.split())] for output, reference in pairs], dtype=float)
        return [Measurement("length", "share", rows, test_set.document_index)]


class Shouting:
    """Tagger: every word in capitals is a pronoun."""

    name = "shouting"

    def __init__(self, language: str) -> None:
        pass

    def tag(self, sentences: Sequence[str]) -> list[Tagged]:
        return [[(word, "PPER" if word.isupper() else "NN") for word in text.split()] for text in sentences]


def write_semicolons(documents: Iterable[ParallelDocument], paths: Sequence[Path]) -> int:
    count = 0
    with atomic_text(paths[0]) as out:
        for document in documents:
            count += 1
            for source, target in zip(document.source.texts, document.target.texts, strict=True):
                out.write(f"{document.id};{source};{target}\n")
    return count


def read_semicolons(paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    class Tabs(TextFiles):
        def lines(self, path: Path) -> Iterator[tuple[int, str]]:
            return ((number, line.replace(";", "\t")) for number, line in files.lines(path))

    return read_tsv(paths, Tabs())


# Corpus format: columns separated by semicolons.
SEMICOLONS = Format(
    "semicolons", ("FILE",), read_semicolons, write_semicolons, "semicolons for tabs", suffixes=(".ssv",)
)


class Quoted(TextDocument):
    def render(self, translated: Iterator[Translated]) -> Iterator[str]:
        return (f"> {line}" for line in super().render(translated))


class QuotedFormat(DocumentFormat):
    """Document format: a quotation, `> ` before each line."""

    suffixes = (".quote",)

    def parse(self, source: FileSource, options: FileOptions) -> Quoted:
        bare = "".join(f"{text.removeprefix('> ')}\n" for _, text in source.lines())
        return Quoted(split_lines(FileSource(bare.encode(), source.path), options), options)


@pytest.fixture
def extended() -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(VARIANTS.extended("narrow", Narrow))
        stack.enter_context(ALIGNMENTS.extended("middle", Middle))
        stack.enter_context(BACKENDS.extended("plain", Backend(plain_attention)))
        stack.enter_context(STRATEGIES.extended("one-by-one", OneByOne))
        stack.enter_context(METRICS.extended("length", Length))
        stack.enter_context(TAGGERS.extended("shouting", Shouting))
        stack.enter_context(FORMATS.extended("semicolons", SEMICOLONS))
        stack.enter_context(DOCUMENT_FORMATS.extended("quote", QuotedFormat))
        yield


def run(*arguments: object) -> None:
    main([str(argument) for argument in arguments])


def test_toy_parts_go_through_everything(
    extended: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(1)
    for name, documents in (("train", 40), ("valid", 5)):
        write_semicolons((each.pair for each in generate(documents, seed=len(name))), [Path(f"{name}.ssv")])

    # Convert and prepare: the corpus format is recognised by its suffix, read and written.
    run("data", "formats")
    assert "semicolons" in capsys.readouterr().out
    run("import", "valid.ssv", "-o", "copy.jsonl")
    run("import", "copy.jsonl", "-o", "again.ssv")
    assert Path("again.ssv").read_text() == Path("valid.ssv").read_text()
    prepare = {"output": "prepared", "splits": {"train": "train.ssv", "valid": "valid.ssv"}, "workers": 1}
    Path("prepare.yaml").write_text(json.dumps(prepare | {"tokenizer": {"vocab_size": 400}}))
    run("prepare", "prepare.yaml")

    # Train: variant, alignment and backend are named in the configuration, with settings of their own.
    attention = {"kind": "narrow", "window": 6, "alignment": "middle", "decoding_alignment": "middle"}
    model = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 32, "ffn": 64, "heads": 2, "attention": attention}
    config = {
        "data": "prepared",
        "output": "run",
        "context": {"kind": "document"},
        "model": {**model, "positions": "relative", "backend": "plain"},
        "batch": {"tokens": 800},
        "stop": {"updates": 6},
        "valid": {"every": 3},
        "checkpoint": {"every": 3},
        "device": "cpu",
    }
    Path("train.yaml").write_text(json.dumps(config))
    run("train", "train.yaml")
    assert "narrow 1000 tok." in capsys.readouterr().err
    assert (
        "narrow" in Path("run/model/README.md").read_text()
        or "window attention" in Path("run/model/README.md").read_text()
    )

    # Translate: the variant chooses its strategy, the suffix the document format.
    Path("text.quote").write_text("> Hi, Anna. Are you tired?\n> \n> Here is the lamp.\n")
    run("translate", "text.quote", "-m", "run/model", "-o", "out.quote", "--beam", 2)
    lines = Path("out.quote").read_text().splitlines()
    assert len(lines) == 3 and all(line.startswith("> ") for line in lines) and lines[1] == "> "
    translator = fenster.load("run/model", beam=2)
    assert translator.strategy.name == "one-by-one"
    assert isinstance(translator.loaded, LoadedModel), "the compiled library does not know its masks"
    assert all(len(segment.ids) <= 5 for segment in translator.translate(["Hi, Anna.", "Are you tired?"]).segments)
    run("translate", "text.quote", "-m", "run/model", "-o", "sd.quote", "--beam", 2, "--strategy", "sequential")

    # Evaluate and report: the metric is measured, kept and shown; the tagger counts.
    run(
        "evaluate", "-m", "run/model", "--test", "valid.ssv", "--beam", 1, "--tagger", "shouting", "-o", "narrow.json"
    )
    result = Result.read(Path("narrow.json"))
    length = result.score("length")
    assert length is not None and length.score is not None and length.score > 0
    assert (result.system.attention, result.system.strategy, result.system.label) == (
        "narrow",
        "one-by-one",
        "narrow",
    )
    assert result.system.alignment == "middle" and result.system.window == 6
    run("attention", "-m", "run/model", "--test", "valid.ssv", "--tokens", 50, "-o", "attention.json")
    run("report", "narrow.json", "attention.json", "-o", "report.html")
    page = Path("report.html").read_text()
    assert "<th>length</th>" in page and "narrow 1000 tok." in page


def test_sequential_decoding_is_right_for_any_registered_alignment(extended: None) -> None:
    """The parametrised tests see it too: they ask the registry."""
    from fenster.model.attention.alignment import decoding_alignments

    assert "middle" in decoding_alignments()


def test_an_alignment_must_say_how_far_back_it_looks() -> None:
    class Careless(Alignment):
        def center(self, tokens: TargetTokens, source: Sequences) -> Integers:
            return tokens.position

    with pytest.raises(TypeError, match="lowest"):
        Careless()  # type: ignore[abstract]


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    registries = (VARIANTS, ALIGNMENTS, BACKENDS, STRATEGIES, METRICS, TAGGERS, FORMATS, DOCUMENT_FORMATS)
    for registry in registries:
        with pytest.raises(ConfigError) as told:
            registry["none"]
        assert f"unknown {registry.kind} 'none'" in str(told.value) and next(iter(registry)) in str(told.value)
        with pytest.raises(ConfigError, match="exists already"), registry.extended(next(iter(registry)), None):  # type: ignore[arg-type]
            pass


def test_misspelt_settings_of_a_variant_are_named() -> None:
    from fenster.config import check
    from fenster.model.config import ModelConfig

    assert issubclass(VARIANTS["window"].Config, AttentionConfig)
    with pytest.raises(ConfigError, match=r"attention\.windw: unknown key; did you mean .window."):
        check({"attention": {"kind": "window", "windw": 3}}, ModelConfig)
    with pytest.raises(ConfigError, match="unknown attention variant 'wide'; known: full, lst, window"):
        check({"attention": {"kind": "wide"}}, ModelConfig)
