"""`fenster translate`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from fenster.cli.decoding import Decoding, model_folder
from fenster.cli.output import Output, Segment, kept_translation, stamp
from fenster.corpus.files import TextFiles, not_over
from fenster.corpus.segment import sentences
from fenster.corpus.text import fault, normalise
from fenster.document import Document
from fenster.errors import ConfigError, InputError
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
    model: Annotated[Path | None, Parameter(name=["--model", "-m"])] = None,
    system: str | None = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    format: Annotated[Literal["text", "jsonl"], Parameter(name=["--format", "-f"])] = "text",
    one_sentence_per_line: Annotated[bool, Parameter(negative="")] = False,
    language: str = "en",
    documents: Annotated[bool, Parameter(negative="")] = False,
    history: Path | None = None,
    nbest: int = 1,
    decoding: Decoding = Decoding(),
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """Translate a text file, or standard input, as a document.

    There is exactly one output line for each input line; blank lines stay blank. Lines are split into sentences,
    which are translated in the context of those before them. With --output an interrupted translation goes on where
    it was. Standard input is read to its end first.

    Examples:

    ```
    fenster translate book.txt -o book.de.txt
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
        A model folder, as in the `model` folder of a run; the English-German model of the package if left out.
    system
        A run below --model: `-m runs/europarl --system window` is `-m runs/europarl/window/model`.
    output
        Where to write, compressed if it ends in .xz or .gz; standard output if left out.
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
    nbest
        Hypotheses in JSONL output, no more than --beam; in full-segment decoding only the best has sentences of its
        own.
    """
    from fenster.decode.translator import Translator

    if not 1 <= nbest <= max(1, decoding.beam):
        raise ConfigError(f"--nbest is {nbest}", expected=f"1 to {decoding.beam}, which is --beam")
    if nbest > 1 and format != "jsonl":
        raise ConfigError("--nbest is for JSONL output", fix="take --format jsonl, or leave it out")
    not_over(output, [file, history])
    lines = _read(file, one_sentence_per_line, language)
    folder = model_folder(model, system)
    translator = Translator.load(folder, decoding.config, device)
    pairs = _history(history)
    if pairs:
        translator.require_sequential()
    _tell_unknown(translator, lines)
    print_of = stamp(
        [line.segments for line in lines], folder, {**decoding.settings, "history": pairs, "documents": documents}
    )
    with Output(output, format, nbest, print_of) as out:
        _translate(translator, lines, pairs, documents, out)
        out.finish()


def _translate(
    translator: Translator, lines: list[Line], pairs: list[tuple[str, str]], documents: bool, out: Output
) -> None:
    total = sum(len(line.segments) for line in lines)
    capped, misaligned = [], 0
    with bar("translating", total) as advance:
        for group in _documents(lines) if documents else [lines]:
            texts = [text for line in group for text in line.segments]
            known = out.known(sum(len(line.segments) for line in group))
            advance(len(known))
            ready: Iterator[Translated] = translator.stream(
                Document.of("", texts), pairs, done=[kept_translation(segment) for segment in known]
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
        shown = _listed(list(dict.fromkeys(capped)))
        stderr.print(
            f"{len(capped)} segment(s) reached the length limit and may be incomplete: line(s) {shown}",
            highlight=False,
        )
    if misaligned:
        stderr.print(
            f"{misaligned} part(s) came out with another number of sentences", highlight=False, soft_wrap=True
        )


def _tell_unknown(translator: Translator, lines: list[Line]) -> None:
    """Say where there are characters that the model can do little with."""
    copied, inside, unknown = [], [], dict[str, None]()
    for line in lines:
        frames = [translator.frame(text) for text in line.segments if text]
        if any(not frame.core for frame in frames):
            copied.append(line.number)
        found = [each for frame in frames for each in frame.core if each not in translator.tokenizer.characters]
        if found:
            inside.append(line.number)
            unknown.update(dict.fromkeys(found))
    if copied:
        stderr.print(
            f"{len(copied)} line(s) have segments without anything that the model can read, which are copied: "
            f"{_listed(copied)}",
            highlight=False,
            soft_wrap=True,
        )
    if inside:
        some = " ".join(list(unknown)[:10]) + (" …" if len(unknown) > 10 else "")
        stderr.print(
            f"{len(inside)} line(s) hold characters inside a sentence that the model hardly knows ({some}); check: "
            f"{_listed(inside)}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


def _listed(lines: list[int]) -> str:
    return ", ".join(map(str, lines[:20])) + (" …" if len(lines) > 20 else "")


def _segment(line: int, found: Translated) -> Segment:
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


def _read(file: Path | None, whole: bool, language: str) -> list[Line]:
    if file is None:
        if sys.stdin is None:
            raise InputError("there is no standard input", fix="name a file")
        try:
            raw = sys.stdin.buffer.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise InputError(
                f"not UTF-8 ({error.reason})",
                path="standard input",
                line=line,
                expected="UTF-8 text",
                fix="convert it, for instance with iconv -t UTF-8",
            ) from None
        texts = [line.removesuffix("\r") for line in raw.removesuffix("\n").split("\n")] if raw else []
        for number, text in enumerate(texts, 1):
            if "\r" in text:
                raise InputError("a carriage return inside the line", path="standard input", line=number)
    else:
        texts = [text for _, text in TextFiles().lines(file)]
    if not texts:
        raise InputError("there is no text", path=file or "standard input", expected="at least one line")
    odd = [number for number, text in enumerate(texts, 1) if fault(normalise(text))]
    if odd:
        stderr.print(
            f"{len(odd)} line(s) hold control characters or reserved symbols, which no model was trained on: "
            f"{_listed(odd)}",
            highlight=False,
        )
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
