"""`fenster bench …`: speed and memory, measured side by side in one run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number
from rich.console import Console
from rich.table import Table

from fenster.bench import speed_commands as speed
from fenster.bench.figures import JsonOption, write_figures
from fenster.cli.options import ModelOption
from fenster.errors import FensterError
from fenster.io.plotting import check_plot_path
from fenster.io.progress import bar
from fenster.io.progress import console as stderr

if TYPE_CHECKING:
    from fenster.bench.attention import Cell

# Imports that bring torch stand inside the commands: the rest of the command line must not wait for it.

app = App(name="bench", help="Measure speed and memory here, side by side in one run.", help_format="markdown")
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
) -> None:
    """Preparation against sentencepiece's own multi-threaded encoding, and its peak memory by corpus size.

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
    rows = bench_prepare.run(
        corpora, sizes or [20_000, 100_000], threads=cores, repeats=repeats, vocab_size=vocab_size
    )
    with stderr.status(f"measuring on {cores} cores"):
        for row in rows:
            table.add_row(
                f"{row.pairs:,}",
                f"{row.alone:,.0f}",
                f"{row.ours:,.0f}",
                f"{100 * row.share:.0f} %",
                *(f"{peak / 2**20:,.0f} MiB" for peak in (row.peak_main, row.peak_worker)),
            )
    Console().print(table)


@app.command
def attention(
    *,
    device: Literal["cpu", "cuda"] = "cpu",
    lengths: Annotated[list[int], Parameter(consume_multiple=True, negative="", validator=Number(gte=1))]
    | None = None,
    window: Annotated[int, Parameter(validator=Number(gte=0))] = 20,
    heads: Annotated[int, Parameter(validator=Number(gte=1))] = 8,
    size: Annotated[int, Parameter(validator=Number(gte=1))] = 64,
    causal: Annotated[bool, Parameter(negative="")] = False,
    positions: Literal["relative", "absolute"] = "relative",
    ways: Annotated[list[str], Parameter(consume_multiple=True, negative="")] | None = None,
    plot: Path | None = None,
) -> None:
    """One attention module, forward and backward, by length: every computation side by side.

    `dense` is PyTorch's fused full attention, `explicit` the same with all weights in memory, `flex` FlexAttention,
    `floor` a mere copy of as many bytes as must be read and written; the others are ours. Time is the median (on a
    GPU under a CUDA graph, eager time in brackets), memory the peak beyond the inputs, growth the fitted power of
    the length.

    Examples:

    ```
    fenster bench attention --lengths 512 1024 2048 4096 8192 16384 32768
    fenster bench attention --device cuda --plot attention.png
    ```

    Parameters
    ----------
    lengths
        Document lengths in tokens.
    window
        w, one-sided.
    positions
        With or without the relative term in windows.
    ways
        Which computations; all by default.
    plot
        Also draw time and memory by length to this file (needs matplotlib).
    """
    if plot is not None:
        check_plot_path(plot)
    import torch

    from fenster.bench import attention as bench_attention
    from fenster.model.ops.device import find_device

    usual = {
        "cpu": [512, 1024, 2048, 4096, 8192, 16384, 32768],
        "cuda": [736, 2208, 8192, 32768, 131072],
    }
    lengths = lengths or usual[device]
    known = bench_attention.WAYS[device]
    chosen = ways or list(known)
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        raise FensterError(f"no computation is called {unknown[0]!r}", expected=", ".join(known))
    find_device(device)
    settings = [
        bench_attention.Setting(way, length, window, heads, size, positions == "relative", causal, device)
        for length in lengths
        for way in chosen
    ]
    cells: dict[tuple[str, int], Cell] = {}
    with bar("measuring", len(settings)) as advance:
        for setting, cell in bench_attention.run(settings):
            advance(1)
            stderr.print(f"{setting.way}, {setting.length:,} tokens: {_cell(cell)}", highlight=False)
            if cell is not None:
                cells[setting.way, setting.length] = cell
    table = Table("backend", *(f"{length:,}" for length in lengths), "growth: time", "memory", box=None)
    for way in chosen:
        here = [(length, cells[way, length]) for length in lengths if (way, length) in cells]
        time, memory = (
            bench_attention.exponent([(n, x) for n, x in points if x > 0])
            for points in ([(n, c.seconds) for n, c in here], [(n, float(c.memory)) for n, c in here])
        )
        shown = (_cell(cells.get((way, length))) for length in lengths)
        table.add_row(way, *shown, f"{time:.2f}", f"{memory:.2f}")
    Console(width=max(100, 24 * (len(lengths) + 2))).print(table)
    name = torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} CPU threads"
    print(
        f"forward + backward, {'float32' if device == 'cpu' else 'bfloat16'}, {heads} heads of {size}, "
        f"w = {window}, {positions} positions{', causal' if causal else ''}, {name}, torch {torch.__version__}"
    )
    if plot is not None:
        from fenster.bench.plot import by_length

        by_length(
            plot,
            "one attention module, forward + backward",
            {way: {n: (c.seconds, c.memory) for (w, n), c in cells.items() if w == way} for way in chosen},
        )
        print(f"-> {plot}")


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    eager = "" if cell.eager is None else f" ({1000 * cell.eager:,.2f})"
    digits = 1 if cell.eager is None else 3
    return f"{1000 * cell.seconds:,.{digits}f}{eager} ms, {cell.memory / 2**20:,.0f} MiB"


@app.command
def memory(
    *,
    lengths: Annotated[list[int], Parameter(consume_multiple=True, negative="", validator=Number(gte=1))]
    | None = None,
    systems: Annotated[list[str], Parameter(consume_multiple=True, negative="")] | None = None,
    plot: Path | None = None,
) -> None:
    """A whole training step (forward, backward, Adam) of the base model on one document: the paper's Table 2.

    Peak GPU memory, allocated and reserved. The paper, in GB: concat 2.3 / 5.8 / 10.9, window w=20 3.5 / 5.9 / 8.5.

    Examples:

    ```
    fenster bench memory
    fenster bench memory --lengths 1000000 --systems "window w=20, ours, checkpointing"
    ```

    Parameters
    ----------
    lengths
        Target tokens of the document; as many source tokens.
    systems
        Which rows; all by default.
    plot
        Also draw time and memory by length to this file (needs matplotlib).
    """
    if plot is not None:
        check_plot_path(plot)
    from fenster.bench import step

    lengths = lengths or [736, 1472, 2208]
    rows = {system.name: system for system in step.SYSTEMS}
    unknown = sorted(set(systems or ()) - set(rows))
    if unknown:
        raise FensterError(f"no system is called {unknown[0]!r}", expected="; ".join(rows))
    chosen = [rows[name] for name in systems or rows]
    measured: dict[str, dict[int, tuple[float, int]]] = {}
    table = Table("system", *(f"{length:,}" for length in lengths), "MB a token", box=None)
    with bar("measuring", len(chosen) * len(lengths)) as advance:
        cells: dict[str, list[str]] = {}
        for system, length, cell in step.run(lengths, chosen):
            advance(1)
            points = measured.setdefault(system.name, {})
            text = "out of memory"
            if cell is not None:
                points[length] = (cell.seconds, cell.allocated)
                text = f"{cell.allocated / 1e9:.2f} GB ({cell.reserved / 1e9:.2f}), {1000 * cell.seconds:,.0f} ms"
            stderr.print(f"{system.name}, {length:,} tokens: {text}", highlight=False)
            cells.setdefault(system.name, []).append(text)
    for name, row in cells.items():
        points = measured[name]
        slope = "-"
        if len(points) > 1:
            low, high = min(points), max(points)
            slope = f"{(points[high][1] - points[low][1]) / (high - low) / 1e6:.2f}"
        table.add_row(name, *row, slope)
    Console(width=max(100, 30 * (len(lengths) + 1) + 12)).print(table)
    print("peak allocated (reserved), base model, 15k vocabulary, one document, forward + backward + Adam")
    if plot is not None:
        from fenster.bench.plot import by_length

        by_length(plot, "one training step, base model", measured)
        print(f"-> {plot}")


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
    """The service with several clients at once, over real HTTP, against the same requests one by one.

    Documents of one to eight sentences, greedy clients: each asks again as soon as it has its answer. "each sentence
    alone" is how LibreTranslate works.

    Examples:

    ```
    fenster bench serve --clients 1 8 32
    fenster bench serve --device cuda --clients 1 8 32 128 --documents 512 --json results/bench/serve.json
    ```

    Parameters
    ----------
    clients
        At once; 1, 8, 32 and 128 by default.
    documents
        Of each measurement; at least two per client.
    batch_size
        Searches that the server runs at once.
    device
        Where the server computes.
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
