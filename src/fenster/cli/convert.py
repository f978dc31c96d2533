"""`fenster import`: any corpus to the house format, or to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from fenster.corpus import TextFiles, get_format, guess_format, read_corpus
from fenster.corpus.files import bare_suffix, not_over
from fenster.document import ParallelDocument
from fenster.errors import InputError
from fenster.prepare.filters import bad_text as find_fault
from fenster.prepare.inputs import files_of
from fenster.progress import bar

FormatName = Annotated[
    str | None,
    Parameter(name=["--format", "-f"], help="Guessed from the names if left out; `fenster data formats` lists all."),
]
WritableFormat = Literal["jsonl", "tsv", "plain", "folder"]


def stream(paths: list[Path], form: str | None, title: str) -> Iterator[ParallelDocument]:
    """Stream a corpus with a progress bar over its bytes."""
    chosen = get_format(form) if form else guess_format(paths)
    chosen.check(paths)
    total = sum(file.stat().st_size for path in paths if path.exists() for file in files_of(path))
    with bar(title, total) as advance:
        yield from read_corpus(paths, chosen, TextFiles(advance))


def import_corpus(
    paths: list[Path],
    /,
    *,
    output: Annotated[list[Path], Parameter(name=["--output", "-o"], consume_multiple=True, negative="")],
    format: FormatName = None,
    to: WritableFormat | None = None,
    bad_text: Literal["error", "keep"] = "error",
) -> None:
    """Convert a corpus to the house format (JSONL, one document a line) or to another.

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
        The files of the corpus, in the order their format wants them; .xz and .gz are understood.
    output
        Where to write; compressed if it ends in .xz or .gz.
    to
        The format to write; by default what the output's name says, else jsonl.
    bad_text
        What to do with control characters or reserved symbols such as `<sep>`: stop and say where, or keep.
    """
    target = get_format(
        to or writable(output, "name the format with --to; all names after -o up to the next option are outputs")
    )
    assert target.write is not None
    target.check(output)
    if len(set(output)) < len(output):
        raise InputError(f"a file is named twice among {' '.join(map(str, output))}", fix="name others")
    for each in output:
        not_over(each, paths)
    counts = {"pairs": 0, "faults": 0, "references": 0}

    def checked(documents: Iterable[ParallelDocument]) -> Iterator[ParallelDocument]:
        for document in documents:
            for index in range(len(document)):
                error = find_fault(document, index, fix="clean the file, or --bad-text keep")
                if error is not None and bad_text == "error":
                    raise error
                counts["faults"] += error is not None
            counts["pairs"] += len(document)
            counts["references"] += len(document.references)
            yield document

    number = target.write(checked(stream(paths, format, "importing")), output)
    print(f"{number:,} documents, {counts['pairs']:,} segment pairs -> {', '.join(map(str, output))}")
    if counts["faults"]:
        print(f"{counts['faults']:,} pairs with control characters or reserved symbols were kept")
    if counts["references"] and target.name != "jsonl":
        print(f"further references were left out: {target.name} holds one (jsonl holds all)")


def writable(output: list[Path], fix: str) -> str:
    """The format that the output's name asks for; `fix` says how else to name it."""
    known = {".jsonl": "jsonl", ".tsv": "tsv"}
    suffixes = [bare_suffix(path) for path in output]
    if len(output) == 1 and suffixes[0] in known:
        return known[suffixes[0]]
    if len(output) == 1 or set(suffixes) & {*known, ".json", ".xml", ".sgm", ".sgml", ".bz2", ".zip"}:
        raise InputError(
            f"cannot tell what to write to {' '.join(map(str, output))}",
            expected="one .jsonl or .tsv (.xz and .gz may follow), or two or three text files",
            fix=fix,
        )
    return "plain"
