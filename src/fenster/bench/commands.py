"""`fenster bench …`: speed and memory, measured side by side in one run."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number
from rich.console import Console
from rich.table import Table

from fenster.bench import length_commands as by_length
from fenster.bench import speed_commands as speed
from fenster.bench.figures import JsonOption, write_figures
from fenster.cli.options import ModelOption
from fenster.io.progress import console as stderr

# Imports that bring torch stand inside the commands: the rest of the command line must not wait for it.

app = App(name="bench", help="Measure speed and memory here, side by side in one run.", help_format="markdown")
app.command(by_length.attention)
app.command(by_length.memory)
app.command(speed.train)
app.command(speed.decode)
app.command(speed.scale)


@app.command
def prepare(
    corpora: list[Path],
    /,
    *,
    sizes: Annotated[list[int], Parameter(consume_multiple=True, validator=Number(gte=1))] | None = None,
    threads: int | None = None,
    repeats: Annotated[int, Parameter(validator=Number(gte=1))] = 2,
    vocab_size: Annotated[int, Parameter(validator=Number(gte=1))] = 15_000,
    json_: JsonOption = None,
) -> None:
    """Speed of preparation compared with sentencepiece's own multi-threaded encoding, and peak memory by corpus size.

    Example: `fenster bench prepare europarl/en-de.train-300k.tsv.xz --sizes 100000 300000`

    Parameters
    ----------
    corpora
        TSV or JSONL files with enough pairs for the largest size.
    sizes
        Sentence pairs to measure with.
    threads
        Threads for sentencepiece and processes for us; all cores by default.
    repeats
        Runs of each; the best one counts.
    json_
        Keep the figures.
    """
    from fenster.bench import prepare as bench_prepare

    table = Table(
        "pairs",
        "sentencepiece, sent./s",
        "fenster prepare, sent./s",
        "share",
        "peak main",
        "peak worker",
        box=None,
    )
    cores = threads or os.cpu_count() or 1
    measured = bench_prepare.run(
        corpora, sizes or [20_000, 100_000], threads=cores, repeats=repeats, vocab_size=vocab_size
    )
    rows = []
    with stderr.status(f"measuring on {cores} cores"):
        for row in measured:
            rows.append(asdict(row))
            table.add_row(
                f"{row.pairs:,}",
                f"{row.alone:,.0f}",
                f"{row.ours:,.0f}",
                f"{100 * row.share:.0f} %",
                *(f"{peak / 2**20:,.0f} MiB" for peak in (row.peak_main, row.peak_worker)),
            )
    Console().print(table)
    if json_ is not None:
        write_figures(json_, {"processes": cores, "repeats": repeats, "rows": rows})


@app.command
def serve(
    *,
    model: ModelOption = ModelOption(),
    clients: Annotated[list[int], Parameter(consume_multiple=True, negative="", validator=Number(gte=1))]
    | None = None,
    documents: Annotated[int, Parameter(validator=Number(gte=2))] = 64,
    batch_size: Annotated[int, Parameter(validator=Number(gte=1))] = 32,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    json_: JsonOption = None,
) -> None:
    """Speed of the service with several clients at once, over real HTTP, compared with the same requests one by one.

    Documents have one to eight sentences, and each client sends its next request as soon as it has an answer. "each
    sentence alone" is how LibreTranslate works.

    Examples:

    ```
    fenster bench serve --clients 1 8 32
    fenster bench serve --device cuda --clients 1 8 32 128 --documents 512 --json results/bench/serve.json
    ```

    Parameters
    ----------
    clients
        Numbers of clients at once; 1, 8, 32 and 128 by default.
    documents
        Documents per measurement; at least two per client.
    batch_size
        Number of searches that the server runs at once.
    device
        The device that the server uses.
    json_
        Keep the figures.
    """

    from fenster.bench import serve as bench_serve

    counts = sorted(set(clients or [1, 8, 32, 128]) | {1})
    loads = []
    with bench_serve.server(model.folder, device, batch_size) as port, stderr.status("measuring"):
        bench_serve.measure(port, 4, bench_serve.documents(8, seed=2))  # warm
        loads.append(bench_serve.measure(port, 1, bench_serve.documents(documents), by_sentence=True))
        for count in counts:
            loads.append(bench_serve.measure(port, count, bench_serve.documents(max(documents, 2 * count))))
    one_by_one = loads[1].rate
    table = Table("", "clients", "documents/s", "ratio", "p50, s", "p95, s", box=None)
    for load in loads:
        table.add_row(
            load.way,
            str(load.clients),
            f"{load.rate:.2f}",
            f"{load.rate / one_by_one:.2f}",
            f"{load.quantile(0.5):.2f}",
            f"{load.quantile(0.95):.2f}",
        )
    Console().print(table)
    if json_ is not None:
        rows = [
            {
                "way": load.way,
                "clients": load.clients,
                "documents": load.documents,
                "seconds": load.seconds,
                "p50": load.quantile(0.5),
                "p95": load.quantile(0.95),
            }
            for load in loads
        ]
        write_figures(json_, rows)
