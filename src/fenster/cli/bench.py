"""`fenster bench …`: speed and memory, measured side by side in one run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table

from fenster.bench import prepare as bench_prepare
from fenster.progress import console as stderr

app = App(name="bench", help="Measure speed and memory here, side by side in one run.", help_format="markdown")


@app.command
def prepare(
    corpora: list[Path],
    /,
    *,
    sizes: Annotated[list[int], Parameter(consume_multiple=True)] | None = None,
    threads: int | None = None,
    repeats: int = 2,
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
    rows = bench_prepare.run(corpora, sizes or [20_000, 100_000], threads=cores, repeats=repeats)
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
