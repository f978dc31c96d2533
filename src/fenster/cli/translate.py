"""`fenster translate` and `fenster score`."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from fenster.cli.convert import FormatName, stream
from fenster.corpus.files import TextFiles, atomic_path
from fenster.corpus.segment import sentences
from fenster.corpus.text import normalise
from fenster.document import Document
from fenster.errors import ConfigError, FensterError, InputError, writing
from fenster.manifest import file_sha256
from fenster.progress import bar
from fenster.progress import console as stderr

if TYPE_CHECKING:
    from fenster.decode.result import Translated
    from fenster.decode.translator import Translator

# Imports that bring torch stand inside the commands: the rest of the command line must not wait for it.


@dataclass(frozen=True)
class Line:
    """A line of the input and the segments that were made of it."""

    number: int
    segments: tuple[str, ...]


def translate(
    file: Path | None = None,
    /,
    *,
    model: Annotated[Path, Parameter(name=["--model", "-m"])],
    system: str | None = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    format: Annotated[Literal["text", "jsonl"], Parameter(name=["--format", "-f"])] = "text",
    one_sentence_per_line: Annotated[bool, Parameter(negative="")] = False,
    language: str = "en",
    documents: Annotated[bool, Parameter(negative="")] = False,
    history: Path | None = None,
    strategy: Literal["auto", "sentence", "full-segment", "sequential"] = "auto",
    beam: int = 12,
    context: str = "auto",
    count: Literal["forced", "split", "repair"] = "forced",
    lookahead: int = 0,
    alignment: str | None = None,
    nbest: int = 1,
    int8: Annotated[bool, Parameter(negative="")] = False,
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """Translate a text file, or standard input, as a document.

    There is exactly one output line for each input line; blank lines stay blank. Lines are split into sentences,
    which are translated in the context of those before them. With --output an interrupted translation goes on where
    it was.

    Examples:

    ```
    fenster translate book.txt --model runs/europarl/window/model -o book.de.txt
    fenster translate book.txt -m runs/europarl --system window --beam 4
    cat lines.en | fenster translate -m MODEL --one-sentence-per-line > lines.de
    fenster translate reply.txt -m MODEL --history conversation.tsv --format jsonl
    ```

    Parameters
    ----------
    file
        UTF-8 text, .xz and .gz too; standard input if left out.
    model
        A model folder, as in the `model` folder of a run.
    system
        A run below --model: `-m runs/europarl --system window` is `-m runs/europarl/window/model`.
    output
        Where to write; standard output if left out.
    format
        text: translated lines. jsonl: an object for each segment with source, target, score and seconds.
    one_sentence_per_line
        Do not split lines into sentences.
    language
        Of the source, for splitting into sentences.
    documents
        Blank lines separate documents. Otherwise the file is one document, and context goes on over blank lines.
    history
        Earlier sentences and their translations (source TAB target, a pair a line): context that is not translated
        again.
    strategy
        sentence | full-segment | sequential; auto takes what fits the model.
    beam
        Hypotheses kept; 1 is greedy.
    context
        Sequential decoding: preceding sentences to give, or part, or document.
    count
        Full-segment decoding: how one translation a sentence is reached (forced, split, repair).
    lookahead
        Sequential decoding: following source sentences that the model may see.
    alignment
        Around which source token windows lie; the model's own if left out.
    nbest
        Hypotheses in JSONL output, except in full-segment decoding, where only the best has sentences of its own.
    int8
        8-bit weights: several times faster on a CPU, a little less exact.
    """
    from fenster.decode.config import DecodeConfig
    from fenster.decode.translator import Translator

    if nbest < 1:
        raise ConfigError(f"--nbest is {nbest}", expected="1 or more")
    if not context.isdecimal() and context not in ("auto", "part", "document"):
        raise ConfigError(f"--context is {context!r}", expected="a number of sentences, part, document or auto")
    lines = _read(file, one_sentence_per_line, language)
    settings = {
        "strategy": strategy,
        "beam": beam,
        "context": int(context) if context.isdecimal() else context,
        "count": count,
        "lookahead": lookahead,
        "alignment": alignment,
        "int8": int8,
    }
    from fenster.config import check

    folder = _folder(model, system)
    translator = Translator.load(folder, check(settings, DecodeConfig), device)
    pairs = _history(history)
    stamp = _stamp(lines, folder, {**settings, "history": pairs, "documents": documents})
    with _Output(output, format, nbest, stamp) as out:
        _translate(translator, lines, pairs, documents, out)
        out.finish()


def _translate(
    translator: Translator, lines: list[Line], pairs: list[tuple[str, str]], documents: bool, out: _Output
) -> None:
    total = sum(len(line.segments) for line in lines)
    capped, misaligned = [], 0
    with bar("translating", total) as advance:
        for group in _documents(lines) if documents else [lines]:
            texts = [text for line in group for text in line.segments]
            known = out.known(sum(len(line.segments) for line in group))
            advance(len(known))
            ready: Iterator[Translated] = translator.stream(
                Document.of("", texts), pairs, done=[_translated(segment) for segment in known]
            )
            for line in group:
                for _ in line.segments:
                    if known:
                        segment = known.pop(0)
                    else:
                        segment = _segment(line.number, next(ready))
                        out.note(segment)
                        advance(1)
                    if segment["capped"]:
                        capped.append(line.number)
                    out.add(segment)
                out.end_line()
            misaligned += translator.misaligned
    if capped:
        places = list(dict.fromkeys(capped))
        shown = ", ".join(map(str, places[:20])) + (" …" if len(places) > 20 else "")
        stderr.print(
            f"{len(capped)} segment(s) reached the length limit and may be incomplete: line(s) {shown}",
            highlight=False,
        )
    if misaligned:
        stderr.print(f"{misaligned} part(s) came out with another number of sentences", highlight=False)


def _translated(segment: dict[str, Any]) -> Translated:
    """What an earlier call wrote, as far as going on needs it."""
    from fenster.decode.result import Translated

    return Translated(segment["source"], segment["target"], tuple(segment["ids"]))


def _segment(line: int, found: Translated) -> dict[str, Any]:
    return {
        "line": line,
        "source": found.source,
        "target": found.text,
        "ids": list(found.ids),
        "score": found.score,
        "capped": found.capped,
        "seconds": round(found.seconds, 4),
        "alternatives": [{"target": text, "score": score} for text, score in found.alternatives],
    }


class _Output:
    """Where translations go, line by line as they are ready. With a file, what is done is kept beside it until the
    whole is written, so that the same command can go on."""

    def __init__(self, path: Path | None, format: str, nbest: int, stamp: str) -> None:
        self._path, self._format, self._nbest = path, format, nbest
        if path is not None and (not path.name or path.is_dir()):
            raise FensterError("is a folder", path=path, expected="the name of a file to write")
        ordinary = path is not None and (path.is_file() or not path.exists())  # not a pipe, not /dev/stdout
        self._journal = path.with_name(f".{path.name}.unfinished.jsonl") if path is not None and ordinary else None
        self._known = [] if self._journal is None else _known(self._journal, stamp)
        self._line: list[dict[str, Any]] = []
        self._text: list[str] = []
        self._stamp = stamp
        self._stream: IO[str] | None = None

    def __enter__(self) -> _Output:
        if self._journal is not None:
            if self._known:
                stderr.print(f"going on after {len(self._known):,} segments", highlight=False)
            elif self._journal.exists():
                stderr.print(
                    "starting over: text, settings or model are not those of the unfinished translation here"
                )
            with atomic_path(self._journal) as temporary:
                lines = [{"stamp": self._stamp}, *self._known]
                temporary.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            with writing(self._journal):
                self._stream = self._journal.open("a", encoding="utf-8")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()
        if kind is not None and self._journal is not None:
            stderr.print("what was translated is kept; the same command goes on", highlight=False)

    def known(self, count: int) -> list[dict[str, Any]]:
        """What an earlier call translated of the next `count` segments."""
        found, self._known = self._known[:count], self._known[count:]
        return found

    def note(self, segment: dict[str, Any]) -> None:
        """Keep a finished segment, in case this call is interrupted."""
        if self._stream is not None:
            self._stream.write(json.dumps(segment) + "\n")
            self._stream.flush()

    def add(self, segment: dict[str, Any]) -> None:
        self._line.append(segment)

    def end_line(self) -> None:
        if self._format == "text":
            self._emit(" ".join(segment["target"] for segment in self._line))
        else:
            for segment in self._line:
                segment = {key: value for key, value in segment.items() if key != "ids"}
                alternatives = segment["alternatives"][: self._nbest - 1]
                kept = (
                    {**segment, "alternatives": alternatives}
                    if self._nbest > 1
                    else _without(segment, "alternatives")
                )
                self._emit(json.dumps(kept, ensure_ascii=False))
        self._line = []

    def _emit(self, text: str) -> None:
        if self._path is None:
            print(text, flush=True)
        else:
            self._text.append(text)

    def finish(self) -> None:
        if self._path is None:
            return
        with atomic_path(self._path) as temporary:
            temporary.write_text("".join(f"{line}\n" for line in self._text), encoding="utf-8", newline="\n")
        if self._journal is not None and self._stream is not None:
            self._stream.close()
            self._journal.unlink()
            print(f"-> {self._path}")


def _known(journal: Path, stamp: str) -> list[dict[str, Any]]:
    """Finished segments of an earlier call with the same input and settings."""
    if not journal.is_file():
        return []
    found = []
    for line in journal.read_bytes().split(b"\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            break  # the end, or cut short by a kill
    return found[1:] if found and found[0] == {"stamp": stamp} else []


def _without(segment: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in segment.items() if name != key}


def _read(file: Path | None, whole: bool, language: str) -> list[Line]:
    if file is None:
        try:
            raw = sys.stdin.buffer.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(f"standard input is not UTF-8 ({error})", expected="UTF-8 text") from None
        texts = [line.removesuffix("\r") for line in raw.removesuffix("\n").split("\n")] if raw else []
        for number, text in enumerate(texts, 1):
            if "\r" in text:
                raise InputError("a carriage return inside the line", path="standard input", line=number)
    else:
        texts = [text for _, text in TextFiles().lines(file)]
    if not texts:
        raise InputError("there is no text", path=file or "standard input", expected="at least one line")
    split = [(normalise(text),) if whole else tuple(sentences(text, language)) for text in texts]
    return [Line(number, segments or ("",)) for number, segments in enumerate(split, 1)]


def _documents(lines: list[Line]) -> list[list[Line]]:
    """Lines between blank ones; blank lines stay at the end of the document before them."""
    found: list[list[Line]] = [[]]
    for line in lines:
        if line.segments != ("",) and found[-1] and found[-1][-1].segments == ("",):
            found.append([])
        found[-1].append(line)
    return found


def _history(path: Path | None) -> list[tuple[str, str]]:
    pairs = []
    for number, text in TextFiles().lines(path) if path is not None else ():
        if not text.strip():
            continue
        parts = text.split("\t")
        if len(parts) != 2 or not all(part.strip() for part in parts):
            raise InputError("not a pair", path=path, line=number, expected="source TAB translation")
        pairs.append((parts[0], parts[1]))
    return pairs


def _folder(model: Path, system: str | None) -> Path:
    if system is None:
        return model
    for folder in (model / system / "model", model / system):
        if (folder / "model.json").is_file():
            return folder
    have = ", ".join(sorted(path.parent.parent.name for path in model.glob("*/model/model.json"))) or "none"
    raise ConfigError(f"no system {system!r}", path=model, expected=f"one of those there: {have}")


def _stamp(lines: list[Line], folder: Path, settings: dict[str, Any]) -> str:
    """A hash of everything that a translation depends on: text, settings, and the model itself."""
    model = [file_sha256(path) for path in sorted(folder.iterdir()) if path.is_file()]
    text = json.dumps([[line.segments for line in lines], settings, model], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def score(
    paths: list[Path],
    /,
    *,
    model: Annotated[Path, Parameter(name=["--model", "-m"])],
    system: str | None = None,
    format: FormatName = None,
    alignment: str | None = None,
    context: Literal["document", "sentence"] = "document",
    tokens: Annotated[bool, Parameter(negative="")] = False,
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """Log-probabilities that a model gives to translations of a parallel corpus: an object a sentence, as JSONL.

    Examples:

    ```
    fenster score test.jsonl --model runs/europarl/window/model
    fenster score source.en target.de -m MODEL --context sentence --tokens
    ```

    Parameters
    ----------
    paths
        A parallel corpus in any format that `fenster data formats` lists.
    alignment
        Of windows; the training one (linear) if left out, sent-align as a check.
    context
        document: each document is one sequence, so sentences are scored in their context. sentence: each alone.
    tokens
        Also the log-probability of each token, the end symbol last.
    """
    from fenster.decode.score import score as scored
    from fenster.model.align import ALIGNMENTS
    from fenster.model.device import find_device
    from fenster.model.saved import load_model

    if alignment is not None and alignment not in ALIGNMENTS:
        raise ConfigError(f"no alignment is called {alignment!r}", expected=", ".join(ALIGNMENTS))
    saved = load_model(_folder(model, system), find_device(device))
    for document in stream(paths, format, "scoring"):
        texts = [(a, b) for a, b in zip(document.source.texts, document.target.texts, strict=True)]
        inputs = (
            [([a], [b]) for a, b in texts]
            if context == "sentence"
            else [([a for a, _ in texts], [b for _, b in texts])]
        )
        found = [each for result in scored(saved, inputs, alignment=alignment) for each in result.tokens]
        for number, (pair, logs) in enumerate(zip(texts, found, strict=True)):
            entry = {
                "document": document.id,
                "segment": number,
                "source": pair[0],
                "target": pair[1],
                "logprob": sum(logs),
            }
            entry |= {"length": len(logs)} | ({"tokens": list(logs)} if tokens else {})
            print(json.dumps(entry, ensure_ascii=False))
