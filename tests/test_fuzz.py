"""Whatever comes in: no traceback, no hang, no segment lost or made up, no protected span changed.

500 inputs in the suite; FENSTER_FUZZ=10000 for more, as the nightly job does. An input follows from its number, so
that a failure can be repeated: FENSTER_FUZZ_FIRST=1234 FENSTER_FUZZ=1.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import torch
import yaml

from fenster.config import Config, load
from fenster.data.corpora import FORMATS, read_corpus
from fenster.data.corpora.synthetic import generate
from fenster.data.dataset import PreparedData
from fenster.data.prepare.config import PrepareConfig
from fenster.data.tokenizer import TokenizerConfig, learn
from fenster.decode.config import DecodeConfig
from fenster.decode.files import DOCUMENT_FORMATS, FileOptions, document_format
from fenster.decode.files.translate import translate_parsed
from fenster.decode.translator import Translator
from fenster.errors import FensterError
from fenster.io.files import FileSource, TextFiles
from fenster.language import load_language
from fenster.language.protect import Protector
from fenster.model.transformer import Transformer
from fenster.train.config import TrainConfig
from tests.helpers.models import make_loaded
from tests.helpers.office import wrapped

COUNT = int(os.environ.get("FENSTER_FUZZ", "500"))
FIRST = int(os.environ.get("FENSTER_FUZZ_FIRST", "0"))
GROUPS = 10  # tests that share the inputs, so that processes can

NASTY = [
    "", " ", "\t", "...", "* * *", "|---|:-:|", "\u200b", "\ufeff", "\u2028", "\x85",
    "\x00", "\x1b[31m", "\ud7ff", "🇩🇪🏳️‍🌈", "ﷺ", "Ａ", "e\u0301", "\u202eabc", "日本語です。",
    "Привет, мир!", "ا ب ت", "<sep>", "<x0>", "<n3> <formal>", "\u2581", "\ue2b1",
    "\ue2b1s", "a" * 400, "a " * 60, "1" * 80, "1,2.3,4.5", "€$£", "%", "%%", "{", "{}",
    "{{}}", "${", "`", "``", "```", "<", "<b", "<b>", "</", "<!--", "http://",
    "https://a.b/(c)", "www.", "@", "@@a", "#", "##", "C:\\", "//", "/a", "~/", "a@b",
    "a@b.c", "+49", "00:00", "25:61 pm", "12 am", "99/99/9999", "v1", "1.2.3.4.5", "A-1",
    "DE00", "- ", "1. ", "> > ", "# ", "\\", "\"", "“", "„a“", "'", "´", "--", "—", "(",
    ")", "[]", "Das ist schon Deutsch.", "C'est la vie, mon ami.",
    "He paid €1,200.50 for 3.5%.", "Mail anna@example.com at 9:30 pm!",
    "See `x`, {y} and %s.", "Hello. How are you?",
]  # fmt: skip


def line(rng: Random) -> str:
    parts = [rng.choice(NASTY) for _ in range(rng.choice([1, 1, 2, 3, 5]))]
    if rng.random() < 0.3:
        parts.append(
            "".join(chr(rng.choice([rng.randrange(32, 127), rng.randrange(160, 0x3000)])) for _ in range(12))
        )
    return rng.choice([" ", "", "\t", "   "]).join(parts).replace("\n", " ").replace("\r", " ")


def text(rng: Random) -> bytes:
    """Lines of nasty text, sometimes as CRLF, sometimes cut or sprinkled with random bytes."""
    data = (
        rng.choice(["\n", "\r\n"]).join(line(rng) for _ in range(rng.randrange(4))).encode("utf-8", "surrogatepass")
    )
    if rng.random() < 0.1:
        data = bytes(rng.randrange(256) for _ in range(rng.randrange(60)))
    if data and rng.random() < 0.1:
        at = rng.randrange(len(data))
        data = data[:at] + bytes([rng.randrange(256)]) + data[at:]
    return data


@pytest.fixture(scope="module")
def translator(toy: PreparedData) -> Translator:
    sentences = [one for d in generate(60, seed=1) for side in (d.pair.source, d.pair.target) for one in side.texts]
    tokenizer = learn(sentences, TokenizerConfig(vocab_size=500, symbols=True))
    plain = make_loaded(toy, "window")
    description = plain.description.model_copy(update={"vocab_size": 500, "languages": ("en", "de")})
    torch.manual_seed(3)
    model = Transformer(description.model, 500, 0.95).eval()
    loaded = replace(plain, model=model, tokenizer=tokenizer, description=description)
    return Translator(loaded, DecodeConfig(beam=1, length_ratio=0.2, length_extra=3))


PROTECTOR = Protector(load_language("en"), load_language("de"), numbers="model")


def numbers(group: int) -> range:
    return range(FIRST + group, FIRST + COUNT, GROUPS)


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_translate(group: int, translator: Translator, tmp_path: Path) -> None:
    for number in numbers(group):
        rng = Random(number)
        name = rng.choice(list(DOCUMENT_FORMATS))
        data = text(rng)
        if name not in ("text", "jsonl", "markdown") and rng.random() < 0.8:
            data = wrapped(name, data.decode("utf-8", "replace").splitlines() or ["a"])
            if rng.random() < 0.2:
                at = rng.randrange(len(data))
                data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        source = FileSource(data, tmp_path / "a.txt")
        options = FileOptions(
            one_sentence_per_line=rng.random() < 0.3, documents=rng.random() < 0.3, keep_lines=rng.random() < 0.5
        )
        output = tmp_path / f"out-{number}"
        try:
            parsed = document_format(name).parse(source, options)
            translate_parsed(translator, parsed, output, options)
        except FensterError as error:
            assert str(error), number
            continue
        if name not in ("text", "jsonl", "markdown", "subtitles"):
            continue  # that it is written is enough: spans are spelt in other ways there
        written = output.read_bytes().decode("utf-8")
        records = written.split("\n")[:-1]
        if name == "text" and options.keep_lines:
            assert len(records) == len(list(source.lines())), number
        if name == "jsonl":
            assert len(records) == len(parsed.segments), number
            for record, segment in zip(map(json.loads, records), parsed.segments, strict=True):
                for one in PROTECTOR.spans(record["source"]):
                    span = record["source"][one.span.start : one.span.end]
                    assert record["target"].count(span) >= 1, (number, span, record)
                assert record["line"] == segment.line
            continue
        for segment in parsed.segments:
            for one in PROTECTOR.spans(segment.text, [(mark.start, mark.end) for mark in segment.marks]):
                # White space inside a span may be a line break of the format's.
                span = segment.text[one.span.start : one.span.end]
                joined = name == "subtitles" and all(part in written for part in span.split())  # over several cues
                together = span in written or "".join(span.split()) in "".join(written.split())
                assert joined or together, (number, segment)


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_readers(group: int, tmp_path: Path) -> None:
    for number in numbers(group):
        rng = Random(number)
        form = rng.choice(list(FORMATS.values()))
        paths = []
        for part in range(rng.choice([1, 2, 3])):
            path = (
                tmp_path / f"{number}-{part}{rng.choice(['.tsv', '.xml', '.jsonl', '.en', '.de', '.gz', '.xz', ''])}"
            )
            path.write_bytes(text(rng))
            paths.append(path)
        try:
            form.check(paths)
            for pair in read_corpus(paths, form, TextFiles()):
                assert len(pair.source) == len(pair.target)
        except FensterError as error:
            assert str(error), number


@pytest.mark.slow
def test_configs(tmp_path: Path) -> None:
    values = [
        None,
        1,
        -1,
        0.5,
        "x",
        "",
        True,
        [],
        [1],
        {},
        {"a": 1},
        "1e400",
        float("inf"),
        "${FENSTER_DATA}",
        10**30,
    ]
    path = tmp_path / "a.yaml"
    for number in range(FIRST, FIRST + COUNT):
        rng = Random(number)
        model: type[Config] = PrepareConfig if rng.random() < 0.5 else TrainConfig
        names = [*model.model_fields, "unknown"]
        body = {rng.choice(names): rng.choice(values) for _ in range(rng.randrange(6))}
        path.write_bytes(text(rng) if rng.random() < 0.2 else yaml.safe_dump(body).encode())
        try:
            load(path, model)
        except FensterError as error:
            assert str(error), number
