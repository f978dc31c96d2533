"""`fenster bench …`: speed and memory, measured side by side in one run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table

from fenster.errors import FensterError
from fenster.progress import bar
from fenster.progress import console as stderr

if TYPE_CHECKING:
    from fenster.bench.attention import Cell

# Imports that bring torch stand inside the commands: the rest of the command line must not wait for it.

app = App(name="bench", help="Measure speed and memory here, side by side in one run.", help_format="markdown")


@app.command
def prepare(
    corpora: list[Path],
    /,
    *,
    sizes: Annotated[list[int], Parameter(consume_multiple=True)] | None = None,
    threads: int | None = None,
    repeats: int = 2,
    vocab_size: int = 15_000,
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
    lengths: Annotated[list[int], Parameter(consume_multiple=True, negative="")] | None = None,
    window: int = 20,
    heads: int = 8,
    size: int = 64,
    causal: Annotated[bool, Parameter(negative="")] = False,
    positions: Literal["relative", "absolute"] = "relative",
    ways: Annotated[list[str], Parameter(consume_multiple=True, negative="")] | None = None,
) -> None:
    """One self-attention module, forward and backward, by length: every computation side by side.

    `dense` is PyTorch's fused full attention; the others compute windows. Time is the median, memory the peak
    beyond the inputs, growth the fitted power of the length.

    Example: `fenster bench attention --lengths 512 1024 2048 4096 8192 16384 32768`

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
    """
    import torch

    from fenster.bench import attention as bench_attention

    lengths = lengths or [512, 1024, 2048, 4096, 8192, 16384, 32768]
    chosen = ways or list(bench_attention.WAYS)
    unknown = sorted(set(chosen) - set(bench_attention.WAYS))
    if unknown:
        raise FensterError(f"no computation is called {unknown[0]!r}", expected=", ".join(bench_attention.WAYS))
    settings = [
        bench_attention.Setting(way, length, window, heads, size, positions == "relative", causal)
        for length in lengths
        for way in chosen
    ]
    found: dict[tuple[str, int], Cell] = {}
    with bar("measuring", len(settings)) as advance:
        for setting, cell in bench_attention.run(settings):
            advance(1)
            if cell is not None:
                found[setting.way, setting.length] = cell
    table = Table("tokens", *chosen, box=None)
    for length in lengths:
        table.add_row(f"{length:,}", *(_cell(found.get((way, length))) for way in chosen))
    for name, value in (("time grows with power", "seconds"), ("memory grows with power", "memory")):
        powers = []
        for way in chosen:
            points = [(n, float(getattr(found[way, n], value))) for n in lengths if (way, n) in found]
            powers.append(f"{bench_attention.exponent([p for p in points if p[1] > 0]):.2f}")
        table.add_row(name, *powers)
    Console().print(table)
    print(
        f"forward + backward, float32, {heads} heads of {size}, w = {window}, {positions} positions, "
        f"{torch.get_num_threads()} threads, torch {torch.__version__}"
    )


def _cell(cell: Cell | None) -> str:
    return "-" if cell is None else f"{1000 * cell.seconds:,.1f} ms, {cell.memory / 2**20:,.0f} MiB"
