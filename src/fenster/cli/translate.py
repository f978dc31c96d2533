"""`fenster translate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import CycloptsError, Parameter
from cyclopts.validators import Number

from fenster.cli.bulk import PART_SIZE, Where, is_bulk, translate_many
from fenster.cli.options import Decoding, Device, Flag, ModelOption
from fenster.decode.config import DecodeConfig
from fenster.errors import ConfigError
from fenster.io.files import STANDARD_INPUT, FileSource, check_not_input
from fenster.io.progress import report

if TYPE_CHECKING:
    from fenster.decode.files.bilingual import ReviewFile

WARNINGS_EXIT = 3


def translate(
    *files: Annotated[str, Parameter(allow_leading_hyphen=True)],
    model: ModelOption = ModelOption(),
    output: Annotated[str | None, Parameter(name=["--output", "-o"], allow_leading_hyphen=True)] = None,
    format: Annotated[str | None, Parameter(name=["--format", "-f"])] = None,
    one_sentence_per_line: Flag = False,
    keep_lines: Flag = False,
    language: str | None = None,
    documents: Flag = False,
    columns: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
    history: Path | None = None,
    bilingual: Path | None = None,
    nbest: int = 1,
    strict: Flag = False,
    decoding: Decoding = DecodeConfig(),
    device: Device = "auto",
    workers: Annotated[int | None, Parameter(validator=Number(gte=1, lte=1024))] = None,
    ray: str | None = None,
    actors_per_gpu: Annotated[int, Parameter(validator=Number(gte=1, lte=64))] = 1,
    part_size: Annotated[int, Parameter(validator=Number(gte=0))] = PART_SIZE,
) -> None:
    """Translate files, folders, or standard input, each file as a document; or shards of many documents.

    Plain text keeps one output line per input line, with the same indentation, list marks and line end; blank lines
    stay blank, and paragraphs that were wrapped at some width are wrapped again. Lines are split into sentences, each
    translated in the context of those before it. In other formats only the words change, and inline markup moves with
    them. Addresses, code, part numbers and the like are copied unchanged, and figures are written as in the target
    language. With an output file, an interrupted translation resumes. Standard input is read to its end first.

    Examples:

    ```
    fenster translate book.txt -o book.de.txt
    fenster translate report.docx --bilingual review.html
    fenster translate site/ -o site-de/
    fenster translate a.jsonl.gz b.parquet more/ -o out/ --workers 4
    fenster translate 's3://bucket/corpus/*.parquet' -o s3://bucket/german/ --ray auto
    fenster translate book.txt --model runs/europarl/window/model -o book.de.txt
    fenster translate book.txt -m runs/europarl --system window --beam 4
    fenster translate strings.csv --columns en
    cat lines.en | fenster translate -m MODEL --one-sentence-per-line > lines.de
    fenster translate reply.txt -m MODEL --history conversation.tsv --format jsonl
    fenster translate manual.txt -o manual.de.txt --register formal --do-not-translate names.txt --protect 'ACME-\\w+'
    ```

    Parameters
    ----------
    files
        Text in UTF-8 (.txt, .xz and .gz too), .docx, .odt, .pptx, .odp, .epub, .html, .md, subtitles (.srt, .vtt,
        .ass), .po, .xliff, .json, .yaml, .csv, .jsonl, or folders of such files; standard input if left out, or -.
        Shards: .parquet, or .jsonl whose objects have a `text` (or a list of `segments`) each; also at URLs.
    output
        Where to write, compressed if it ends in .xz or .gz; standard output for -. If left out, text goes to standard
        output, and other formats are written beside the input (report.docx becomes report.de.docx). For a folder or
        several files, the folder to write into; the same command resumes, and translates only what has changed.
    format
        text: translated lines. jsonl: one object per segment with source, target, score, warnings and seconds; a
        .jsonl file as input has objects with a `source`, and optionally a `document`, `id` or `register`. By default
        chosen from the file's name, else text.
    one_sentence_per_line
        Do not split lines into sentences.
    keep_lines
        Write exactly one output line per input line, even if a paragraph of a .txt file is wrapped at some width.
        Otherwise such a paragraph
        is translated as a whole and wrapped again. Standard input never is.
    language
        The source language, for splitting into sentences; the model's if left out.
    documents
        Blank lines separate documents. Otherwise the file is one document, and context reaches across blank lines.
    columns
        For a .csv file, the columns to translate; if left out, the one that is named after the source language. For
        shards, the column of texts, if it is not `text`.
    history
        Earlier sentences and their translations: context that is not translated again. Source TAB translation, one
        pair per line, or any corpus (`fenster data formats`), such as a corrected .tmx or .xliff.
    bilingual
        Also write source and translation side by side, for a review: .html, .docx, .tmx or .xliff. A corrected .tmx
        or .xliff may be the --history of the next document.
    nbest
        Number of hypotheses in JSONL output, at most --beam; in full-segment decoding only the best one is split into
        sentences.
    strict
        Exit with code 3 if a translation has warnings; the output is written anyway.
    workers
        Number of processes that translate a folder, several files or shards, the longest first. They share the cores
        unless --threads sets how many each of them uses.
    ray
        Translate on a Ray cluster: its address, auto for the one that this machine belongs to, or local to start one.
        Each actor uses a GPU, or --threads cores (one by default).
    actors_per_gpu
        How many of --ray's actors share each GPU. Two processes on an H200 translated 1.8 times as much as one.
    part_size
        Bytes of a shard's text per task: a worker that dies loses at most one task. 0: whole shards.
    """
    from fenster.decode.files import FileOptions, document_format
    from fenster.decode.files.output import beside, check_output

    # Whatever is wrong with the options is said before anything that takes a second to import.
    misspelt = next((name for name in files if name.startswith("--")), None)
    if misspelt is not None:
        raise CycloptsError(msg=f"Unknown option: {misspelt}.")
    if not 1 <= nbest <= max(1, decoding.beam):
        raise ConfigError(f"--nbest is {nbest}", expected=f"1 to {decoding.beam}, which is --beam")
    if actors_per_gpu > 1 and ray is None:
        raise ConfigError("--actors-per-gpu requires --ray", fix="give --workers instead, or --ray as well")
    file = Path(files[0]) if len(files) == 1 else None
    languages = (language or model.languages[0], model.languages[1])
    if is_bulk(files, workers=workers, ray=ray):
        if output is None or format is not None or history is not None or bilingual is not None or nbest > 1:
            raise ConfigError(
                "several files or shards need an output folder; each keeps its own format",
                fix="give -o FOLDER, without --format, --history, --bilingual or --nbest",
            )
        options = FileOptions(one_sentence_per_line, *languages, keep_lines, documents, columns)
        where = Where(workers, ray, device, part_size, actors_per_gpu)
        if translate_many(files, output, model, decoding, options, where) and strict:
            sys.exit(WARNINGS_EXIT)
        return
    kind = document_format(format, file)
    if nbest > 1 and not kind.holds_nbest:
        raise ConfigError("--nbest applies only to JSONL output", fix="choose --format jsonl, or leave it out")
    to_standard_output = output == "-"
    file, target = _path(files[0] if len(files) == 1 else None), _path(output)
    for path in (target, bilingual):
        check_not_input(path, [file, history])
    if target is not None and bilingual is not None and target.resolve() == bilingual.resolve():
        raise ConfigError("--output and --bilingual name the same file", path=target)
    review = None if bilingual is None else _review_file(bilingual, file, languages)
    options = FileOptions(one_sentence_per_line, *languages, keep_lines, documents, columns, nbest)
    if target is None and file is not None and kind.writes_file and not to_standard_output:
        target = beside(file, options.target)
    check_output(kind, file, target)
    if kind.is_binary and target is None and sys.stdout.isatty():
        raise ConfigError("this format cannot be written to a terminal", fix="name an output with -o")
    parsed = kind.parse(FileSource.read(file), options)
    pairs = [] if history is None else _read_history(history)

    translator = model.translator(decoding, device)  # may import torch

    from fenster.decode.files.translate import report_problems, report_summary, translate_parsed

    if pairs:
        translator.strategy.require_history()
    report_problems(translator, parsed)
    summary = translate_parsed(translator, parsed, target, options, pairs, None if review is None else review.add)
    if summary.output is not None:
        print(f"-> {summary.output}")
    if review is not None:
        review.write()
        report(f"-> {bilingual}")
    report_summary(summary)
    if strict and summary.warnings:
        sys.exit(WARNINGS_EXIT)


def _review_file(path: Path, file: Path | None, languages: tuple[str, str]) -> ReviewFile:
    from fenster.decode.files.bilingual import ReviewFile

    return ReviewFile(path, STANDARD_INPUT if file is None else file.name, languages)


def _read_history(path: Path) -> list[tuple[str, str]]:
    from fenster.data.corpora.pairs import read_pairs

    return read_pairs(path)


def _path(name: str | None) -> Path | None:
    """None for `-`, which means standard input or output; other names do not begin with a dash."""
    if name is not None and name.startswith("-") and name != "-":
        raise ConfigError(f"{name} is not a file name", fix=f"check the options; a file of that name is ./{name}")
    return None if name in (None, "-") else Path(name)
