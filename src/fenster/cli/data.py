"""`fenster data …`: inspect documents, and generate some."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from rich.markup import escape
from rich.table import Table

from fenster.cli.options import FormatName
from fenster.config import Config, check
from fenster.data.context import ContextConfig
from fenster.data.corpora import FORMATS, writable_format
from fenster.data.corpora.stream import stream
from fenster.data.corpora.synthetic import CHANCE, GeneratedDocument, generate
from fenster.data.dataset import PreparedData
from fenster.data.examples import ExampleIndex
from fenster.data.sampler import BatchConfig, Sampler
from fenster.data.statistics import Lengths, Statistics, collect
from fenster.data.tokenizer import Tokenizer
from fenster.errors import InputError, counted
from fenster.io.files import atomic_text
from fenster.io.progress import wide_console

app = App(name="data", help="Inspect corpora and prepared data; generate test documents.", help_format="markdown")


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
        Count the pieces of this tokenizer instead of words.
    json_
        Print JSON for programs instead of a table.
    """
    documents = stream("counting", paths, None if format is None else FORMATS[format])
    statistics = collect(documents, None if tokenizer is None else Tokenizer.load(tokenizer))
    if json_:
        print(json.dumps(statistics.summary(), indent=1))
    else:
        _show(statistics)


def _show(statistics: Statistics) -> None:
    console = wide_console()
    table = Table("", "total", "mean", "median", "95 %", "longest", box=None, pad_edge=False)
    rows: list[tuple[str, Lengths]] = [
        ("sentences per document", statistics.sizes),
        (f"source {statistics.unit} per sentence", statistics.source),
        (f"target {statistics.unit} per sentence", statistics.target),
    ]
    for name, lengths in rows:
        row = lengths.summary()
        table.add_row(
            name,
            f"{row['total']:,}",
            f"{row['mean']:.1f}",
            *(f"{row[key]:,}" for key in ("median", "p95", "longest")),
        )
    console.print(f"{statistics.documents:,} documents, {statistics.sentences:,} sentence pairs")
    console.print(table)
    console.print(
        f"source/target ratio: {statistics.ratio.micro:.4f} overall, {statistics.ratio.macro:.4f} mean over documents"
    )
    console.print(
        f"pairs with an empty side: {statistics.empty:,}; with control characters or reserved symbols: "
        f"{statistics.bad_text:,}"
    )
    console.print(f"\ntarget {statistics.unit} per sentence")
    histogram = statistics.target.histogram((5, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200))
    most = max(count for _, count in histogram) or 1
    for label, count in histogram:
        console.print(f"{label:>9} {count:>9,} {'█' * round(40 * count / most)}", highlight=False)


@app.command
def formats() -> None:
    """List the corpus formats that can be read and written, with the files each expects."""
    table = Table("format", "files", "written", "what it is", box=None)
    for form in FORMATS.values():
        table.add_row(form.name, escape(" ".join(form.paths)), "yes" if form.write else "", form.about)
    wide_console().print(table)


@app.command
def verify(folder: Path, /) -> None:
    """Check a folder of prepared data against its manifest, every file by its hash.

    Example: `fenster data verify data/europarl`
    """
    prepared = PreparedData(folder)
    files = sum(len(shard.files) for split in prepared.manifest.splits.values() for shard in split.shards)
    print(f"{folder}: {files + 2} files match the manifest")


@app.command
def show(
    folder: Path,
    /,
    *,
    split: str = "train",
    context: Literal["sentence", "adjacent", "document"] = "document",
    k: int = 2,
    limit: int | None = 1000,
    example: int = 0,
    tokens: int = 8000,
    seed: int = 1,
) -> None:
    """Show prepared data as a model will see it: an example, and how an epoch is divided into batches.

    Example: `fenster data show data/europarl --context adjacent --k 2 --example 17`

    Parameters
    ----------
    folder
        A folder that `fenster prepare` made.
    context
        Each sentence alone, with its `k` predecessors, or whole documents of up to `limit` target tokens.
    example
        Which example to print.
    tokens
        Token budget of a batch, per side.
    """
    configs: dict[str, dict[str, int | None]] = {
        "sentence": {},
        "adjacent": {"k": k},
        "document": {"limit": limit},
    }
    chosen = check({"context": {"kind": context, **configs[context]}}, _Context).context
    prepared = PreparedData(folder)
    index = ExampleIndex.build(prepared.split(split), chosen)
    if not 0 <= example < len(index):
        raise InputError(f"no example {example}", path=folder, expected=f"0 to {len(index) - 1}")
    sampler = Sampler(index, check({"tokens": tokens, "seed": seed}, BatchConfig))
    plan = sampler.plan(0)
    waste = plan.waste(tokens)
    shown = index.example(example)
    console = wide_console()
    console.print(
        f"[bold]{context}[/]: {len(index):,} examples in {len(plan):,} batches of up to {tokens:,} tokens per side; "
        f"unfilled {100 * waste.packed:.1f} % (padding would waste {100 * waste.padded:.1f} %); "
        f"{counted(sampler.oversize, 'example')} above the budget"
    )
    console.print(f"example {example}: document {escape(shown.name)}, from segment {shown.first + 1}")
    for number in range(min(shown.source.sentences, 12)):
        for name, side in (("source", shown.source), ("target", shown.target)):
            ids = side.ids[side.starts[number] : side.starts[number + 1]]
            console.print(f"  {number:>3} {name}  {escape(' '.join(prepared.tokenizer.pieces(ids)))}")
    if shown.source.sentences > 12:
        console.print(f"  … and {shown.source.sentences - 12} more sentences")


class _Context(Config):
    context: ContextConfig


@app.command(name="generate")
def generate_documents(
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    documents: int = 200,
    seed: int = 1,
    sentences: Annotated[tuple[int, int], Parameter(negative="")] = (8, 20),
    distance: Annotated[tuple[int, int], Parameter(negative="")] = (1, 6),
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
        Range of lengths: a document ends once it has reached a length drawn from this range and no
        dependency is pending.
    distance
        Smallest and largest distance, in sentences, from the deciding sentence to the one that depends on it.
    echo
        Chance that sentences in between depend on it, too; 0 leaves the deciding sentence as the only evidence.
    decisions
        Also write every choice: document, segment, kind, expected form, options, distance.
    """
    fine = 1 <= distance[0] <= distance[1] and 1 <= sentences[0] <= sentences[1] and 0 <= echo <= 1
    if not fine or documents < 1:
        raise InputError(
            f"out of range: --documents {documents}, --sentences {sentences}, --distance {distance} or --echo {echo}",
            expected="at least one document, two ascending numbers from 1 on, and an echo from 0 to 1",
        )
    if decisions is not None and (decisions.resolve() == output.resolve() or decisions.is_dir()):
        raise InputError("--decisions must be a separate file", path=decisions)
    made = list(generate(documents, seed=seed, sentences=sentences, distance=distance, echo=echo))
    write = writable_format([output], "choose a name that ends in .jsonl or .tsv").write
    assert write is not None
    write((document.pair for document in made), [output])
    if decisions is not None:
        _write_decisions(made, decisions)
    print(
        f"{len(made):,} documents, {sum(len(d.pair) for d in made):,} segment pairs, "
        f"{sum(len(d.decisions) for d in made):,} choices -> {output}"
    )
    print(
        "best possible accuracy without context: "
        + ", ".join(f"{kind} {100 * share:.1f} %" for kind, share in CHANCE.items())
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
