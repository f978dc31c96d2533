"""`fenster import` and `fenster data …`: looking at and converting documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fenster.corpus import FORMATS, TextFiles, get_format, guess_format, read_corpus
from fenster.corpus.files import atomic_text, bare_suffix
from fenster.corpus.generated import GeneratedDocument, best_sentence_guess, generate
from fenster.document import ParallelDocument
from fenster.errors import InputError
from fenster.prepare.filters import bad_text as find_fault
from fenster.prepare.inputs import files_of
from fenster.progress import bar
from fenster.shards import Prepared
from fenster.stats import Lengths, Statistics, collect
from fenster.tokenize import Tokenizer

app = App(name="data", help="Look at documents and make some.", help_format="markdown")

FormatName = Annotated[
    str | None,
    Parameter(
        name=["--format", "-f"], help="Guessed from the names if left out; `fenster data formats` lists all."
    ),
]
WritableFormat = Literal["jsonl", "tsv", "plain", "folder"]


def _documents(paths: list[Path], form: str | None, title: str) -> Iterator[ParallelDocument]:
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
    target = get_format(to or _writable(output))
    assert target.write is not None
    target.check(output)
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

    number = target.write(checked(_documents(paths, format, "importing")), output)
    print(f"{number:,} documents, {counts['pairs']:,} segment pairs -> {', '.join(map(str, output))}")
    if counts["faults"]:
        print(f"{counts['faults']:,} pairs with control characters or reserved symbols were kept")
    if counts["references"] and target.name != "jsonl":
        print(f"further references were left out: {target.name} holds one (jsonl holds all)")


def _writable(output: list[Path]) -> str:
    if len(output) > 1:
        return "plain"
    return "tsv" if bare_suffix(output[0]) == ".tsv" else "jsonl"


@app.command
def stats(
    paths: list[Path],
    /,
    *,
    format: FormatName = None,
    tokenizer: Path | None = None,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Count documents, sentences and tokens; show lengths and the source/target ratio.

    Example:

    ```
    fenster data stats corpus.tsv.xz
    fenster data stats corpus.en corpus.de --tokenizer prepared/tokenizer.model
    ```

    Parameters
    ----------
    paths
        The files of the corpus.
    tokenizer
        Count this model's pieces instead of words.
    json_
        Print numbers for programs instead of a table.
    """
    found = collect(
        _documents(paths, format, "counting"), Tokenizer.load(tokenizer) if tokenizer is not None else None
    )
    if json_:
        print(json.dumps(found.summary(), indent=1))
    else:
        _show(found)


def _show(found: Statistics) -> None:
    console = Console()
    table = Table("", "total", "mean", "median", "95 %", "longest", box=None, pad_edge=False)
    rows: list[tuple[str, Lengths]] = [
        ("sentences a document", found.sizes),
        (f"source {found.unit} a sentence", found.source),
        (f"target {found.unit} a sentence", found.target),
    ]
    for name, lengths in rows:
        row = lengths.summary()
        table.add_row(
            name,
            f"{row['total']:,}",
            f"{row['mean']:.1f}",
            *(f"{row[key]:,}" for key in ("median", "p95", "longest")),
        )
    console.print(f"{found.documents:,} documents, {found.sentences:,} sentence pairs")
    console.print(table)
    console.print(
        f"source/target ratio: {found.ratio.micro:.4f} overall, {found.ratio.macro:.4f} mean over documents"
    )
    console.print(f"pairs with an empty side: {found.empty:,}; with control characters: {found.bad_text:,}")
    console.print(f"\ntarget {found.unit} a sentence")
    histogram = found.target.histogram((5, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200))
    most = max(count for _, count in histogram) or 1
    for label, count in histogram:
        console.print(f"{label:>9} {count:>9,} {'█' * round(40 * count / most)}", highlight=False)


@app.command
def formats() -> None:
    """List the corpus formats that can be read and written, with the files each wants."""
    table = Table("format", "files", "written", "what it is", box=None)
    for form in FORMATS.values():
        table.add_row(form.name, escape(" ".join(form.paths)), "yes" if form.write else "", form.about)
    Console().print(table)


@app.command
def verify(folder: Path, /) -> None:
    """Check a folder of prepared data against its manifest, every file by its hash.

    Example: `fenster data verify data/europarl`
    """
    prepared = Prepared(folder)
    files = sum(len(shard.files) for split in prepared.manifest.splits.values() for shard in split.shards)
    print(f"{folder}: {files + 2} files as the manifest describes them")


@app.command(name="generate")
def generate_documents(
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    documents: int = 200,
    seed: int = 1,
    sentences: tuple[int, int] = (8, 20),
    distance: tuple[int, int] = (1, 6),
    echo: float = 0.3,
    decisions: Path | None = None,
) -> None:
    """Make parallel documents with known discourse dependencies (English to a simplified German).

    Register (Sie / du) and pronouns (er / sie / es) depend on earlier sentences, so that a system which sees
    one sentence at a time can only guess.

    Example: `fenster data generate --documents 1000 --distance 1 8 -o toy.jsonl --decisions toy.decisions.jsonl`

    Parameters
    ----------
    output
        Where to write: .jsonl or .tsv, compressed if it ends in .xz or .gz.
    sentences
        Shortest and longest document.
    distance
        Fewest and most sentences from the one that decides to the one that depends on it.
    echo
        Chance that sentences in between depend on it too; 0 leaves the deciding sentence as the only evidence.
    decisions
        Also write every choice: document, segment, kind, expected form, options, distance.
    """
    if not (1 <= distance[0] <= distance[1] and 1 <= sentences[0] <= sentences[1] and 0 <= echo <= 1):
        raise InputError(
            f"--sentences {sentences}, --distance {distance} or --echo {echo} is out of range",
            expected="two rising numbers from 1 on, and an echo from 0 to 1",
        )
    made = list(generate(documents, seed=seed, sentences=sentences, distance=distance, echo=echo))
    write = FORMATS[_writable([output])].write
    assert write is not None
    write((document.pair for document in made), [output])
    if decisions is not None:
        _write_decisions(made, decisions)
    guess = best_sentence_guess(made)
    print(
        f"{len(made):,} documents, {sum(len(d.pair) for d in made):,} segment pairs, "
        f"{sum(len(d.decisions) for d in made):,} choices -> {output}"
    )
    print(
        "best possible accuracy without context: "
        + ", ".join(f"{kind} {100 * share:.1f} %" for kind, share in guess.items())
    )


def _write_decisions(made: list[GeneratedDocument], path: Path) -> None:
    with atomic_text(path) as out:
        for document in made:
            for choice in document.decisions:
                row = {
                    "document": document.pair.id,
                    "segment": choice.segment,
                    "kind": choice.kind,
                    "expected": choice.expected,
                    "options": choice.options,
                    "distance": choice.distance,
                }
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
