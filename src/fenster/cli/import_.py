"""`fenster import`: any corpus to the house format, or to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from fenster.cli.options import FormatName
from fenster.data.corpora import FORMATS, writable_format
from fenster.data.corpora.stream import stream
from fenster.data.prepare.filters import bad_text as find_bad_text
from fenster.document import ParallelDocument
from fenster.errors import InputError
from fenster.io.files import check_not_input


def import_corpus(
    paths: list[Path],
    /,
    *,
    output: Annotated[list[Path], Parameter(name=["--output", "-o"], consume_multiple=True, negative="")],
    format: FormatName = None,
    to: str | None = None,
    bad_text: Literal["error", "keep"] = "error",
) -> None:
    """Convert a corpus to the house format (JSONL, one document per line) or to another.

    Examples:

    ```
    fenster import corpus.tsv.xz -o corpus.jsonl.xz
    fenster import newstest2015-ende-src.en.sgm newstest2015-ende-ref.de.sgm -o newstest2015.jsonl
    fenster import train.tags.en-de.en train.tags.en-de.de -o ted.jsonl.xz
    fenster import OpenSubtitles.de-en.en OpenSubtitles.de-en.de OpenSubtitles.de-en.ids -o os.jsonl.xz
    fenster import corpus.jsonl --to plain -o corpus.en corpus.de corpus.docs
    ```

    Parameters
    ----------
    paths
        The files of the corpus, in the order their format expects them; .xz and .gz are understood.
    output
        Where to write; compressed if it ends in .xz or .gz.
    to
        The format to write (`fenster data formats` lists them); by default chosen from the names of the output.
    bad_text
        What to do with control characters or reserved symbols such as `<sep>`: stop and report where, or keep them.
    """
    hint = "name the format with --to; all names after -o up to the next option are outputs"
    target = writable_format(output, hint) if to is None else FORMATS[to]
    if target.write is None:
        writable = ", ".join(form.name for form in FORMATS.values() if form.write is not None)
        raise InputError(f"format {target.name} cannot be written", expected=writable)
    target.check(output)
    if len(set(output)) < len(output):
        raise InputError(f"a file is named twice among {' '.join(map(str, output))}", fix="give each its own name")
    for path in output:
        check_not_input(path, paths)
    counts = {"pairs": 0, "bad": 0, "references": 0}

    def checked(documents: Iterable[ParallelDocument]) -> Iterator[ParallelDocument]:
        for document in documents:
            for index in range(len(document)):
                error = find_bad_text(document, index, fix="clean the file, or --bad-text keep")
                if error is not None and bad_text == "error":
                    raise error
                counts["bad"] += error is not None
            counts["pairs"] += len(document)
            counts["references"] += len(document.references)
            yield document

    source = stream("importing", paths, None if format is None else FORMATS[format])
    number = target.write(checked(source), output)
    print(f"{number:,} documents, {counts['pairs']:,} segment pairs -> {', '.join(map(str, output))}")
    if counts["bad"]:
        print(f"{counts['bad']:,} pairs with control characters or reserved symbols were kept")
    if counts["references"] and not target.keeps_references:
        print(f"further references were left out: {target.name} holds one (jsonl holds all)")
