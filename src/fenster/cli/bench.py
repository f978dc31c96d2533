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
    device: Literal["cpu", "cuda"] = "cpu",
    lengths: Annotated[list[int], Parameter(consume_multiple=True, negative="")] | None = None,
    window: int = 20,
    heads: int = 8,
    size: int = 64,
    causal: Annotated[bool, Parameter(negative="")] = False,
    positions: Literal["relative", "absolute"] = "relative",
    ways: Annotated[list[str], Parameter(consume_multiple=True, negative="")] | None = None,
    plot: Path | None = None,
) -> None:
    """One attention module, forward and backward, by length: every computation side by side.

    `dense` is PyTorch's fused full attention, `explicit` the same with all weights in memory, `flex` FlexAttention;
    the others are ours. Time is the median (on a GPU under a CUDA graph, eager time in brackets), memory the peak
    beyond the inputs, growth the fitted power of the length.

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
    import torch

    from fenster.bench import attention as bench_attention

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
    if device == "cuda" and not torch.cuda.is_available():
        raise FensterError("there is no GPU here", fix="leave --device out to measure on the CPU")
    settings = [
        bench_attention.Setting(way, length, window, heads, size, positions == "relative", causal, device)
        for length in lengths
        for way in chosen
    ]
    found: dict[tuple[str, int], Cell] = {}
    with bar("measuring", len(settings)) as advance:
        for setting, cell in bench_attention.run(settings):
            advance(1)
            if cell is not None:
                found[setting.way, setting.length] = cell
    table = Table("computation", *(f"{length:,}" for length in lengths), "growth: time", "memory", box=None)
    for way in chosen:
        here = [(length, found[way, length]) for length in lengths if (way, length) in found]
        time, memory = (
            bench_attention.exponent([(n, x) for n, x in points if x > 0])
            for points in ([(n, c.seconds) for n, c in here], [(n, float(c.memory)) for n, c in here])
        )
        cells = (_cell(found.get((way, length))) for length in lengths)
        table.add_row(way, *cells, f"{time:.2f}", f"{memory:.2f}")
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
            {way: {n: (c.seconds, c.memory) for (w, n), c in found.items() if w == way} for way in chosen},
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
    lengths: Annotated[list[int], Parameter(consume_multiple=True, negative="")] | None = None,
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
    from fenster.bench import step

    lengths = lengths or [736, 1472, 2208]
    rows = {system.name: system for system in step.SYSTEMS}
    unknown = sorted(set(systems or ()) - set(rows))
    if unknown:
        raise FensterError(f"no system is called {unknown[0]!r}", expected="; ".join(rows))
    chosen = [rows[name] for name in systems or rows]
    found: dict[str, dict[int, tuple[float, int]]] = {}
    table = Table("system", *(f"{length:,}" for length in lengths), "MB a token", box=None)
    with bar("measuring", len(chosen) * len(lengths)) as advance:
        cells: dict[str, list[str]] = {}
        for system, length, cell in step.run(lengths, chosen):
            advance(1)
            points = found.setdefault(system.name, {})
            text = "out of memory"
            if cell is not None:
                points[length] = (cell.seconds, cell.allocated)
                text = f"{cell.allocated / 1e9:.2f} GB ({cell.reserved / 1e9:.2f}), {1000 * cell.seconds:,.0f} ms"
            cells.setdefault(system.name, []).append(text)
    for name, row in cells.items():
        points = found[name]
        slope = "-"
        if len(points) > 1:
            low, high = min(points), max(points)
            slope = f"{(points[high][1] - points[low][1]) / (high - low) / 1e6:.2f}"
        table.add_row(name, *row, slope)
    Console(width=max(100, 30 * (len(lengths) + 1) + 12)).print(table)
    print("peak allocated (reserved), base model, 15k vocabulary, one document, forward + backward + Adam")
    if plot is not None:
        from fenster.bench.plot import by_length

        by_length(plot, "one training step, base model", found)
        print(f"-> {plot}")


@app.command
def train(
    *,
    device: Literal["cpu", "cuda"] | None = None,
    lengths: Annotated[list[int], Parameter(consume_multiple=True, negative="")] | None = None,
    tokens: int | None = None,
    systems: Annotated[list[str], Parameter(consume_multiple=True, negative="")] | None = None,
    seconds: float = 5,
    compiled: Annotated[bool, Parameter(name="--compile", negative="--no-compile")] = True,
) -> None:
    """Training speed of the base model: a compiled `nn.Transformer` and ours, side by side.

    Whole updates (forward, backward, clipping, Adam) on random tokens without padding, median time. On a GPU in
    bfloat16, on a CPU in float32.

    Examples:

    ```
    fenster bench train --device cuda
    fenster bench train --device cpu --lengths 1024 --tokens 2048
    ```

    Parameters
    ----------
    device
        A GPU where there is one, by default.
    lengths
        Tokens of each sequence, source and target.
    tokens
        Target tokens of a batch; a longer sequence is a batch of its own.
    systems
        Of `nn.Transformer`, `full` and `window`; all by default.
    seconds
        How long to measure each.
    compiled
        Compile the baseline (and ours on a GPU, with CUDA graphs).
    """
    os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")  # as `fenster train` does
    import torch

    from fenster.bench import train as bench_train

    cuda = torch.cuda.is_available() if device is None else device == "cuda"
    if cuda and not torch.cuda.is_available():
        raise FensterError("there is no GPU here", fix="leave --device out to measure on the CPU")
    lengths = lengths or ([32, 1024, 32768] if cuda else [32, 1024])
    tokens = tokens or (32768 if cuda else 2048)
    unknown = sorted(set(systems or ()) - set(bench_train.SYSTEMS))
    if unknown:
        raise FensterError(f"no system is called {unknown[0]!r}", expected=", ".join(bench_train.SYSTEMS))
    chosen = systems or list(bench_train.SYSTEMS)
    place = torch.device("cuda" if cuda else "cpu")
    table = Table("length", "system", "target tokens/s", "ratio", "memory", "first update", box=None)
    base: dict[int, float] = {}
    with bar("measuring", len(chosen) * len(lengths)) as advance:
        for system, length, cell in bench_train.run(place, lengths, tokens, chosen, seconds, compiled):
            advance(1)
            if cell is None:
                table.add_row(f"{length:,}", system, "out of memory", "-", "-", "-")
                continue
            base.setdefault(length, cell.tokens_per_second)
            ratio = cell.tokens_per_second / base[length]
            row = (f"{cell.tokens_per_second:,.0f}", f"{ratio:.2f}", f"{cell.memory / 2**30:.1f} GiB")
            table.add_row(f"{length:,}", system, *row, f"{cell.first:.1f} s")
    Console(width=110).print(table)
    name = torch.cuda.get_device_name() if cuda else f"{torch.get_num_threads()} CPU threads"
    print(
        f"base model, 15k vocabulary, batches of {tokens:,} target tokens, "
        f"{'bfloat16' if cuda else 'float32'}, {'compiled' if compiled else 'not compiled'}, {name}, "
        f"torch {torch.__version__}; ratio: to the first system of the same length"
    )


@app.command
def decode(
    *,
    device: Literal["cpu", "cuda"] | None = None,
    sentences: Annotated[list[int], Parameter(consume_multiple=True, negative="")] | None = None,
    beam: int = 4,
    naive: int = 100,
    count: int = 32,
    batch: int = 16,
    programs: Annotated[list[str], Parameter(consume_multiple=True, negative="")] | None = None,
) -> None:
    """Decoding speed of the base model with random weights: by place in a document, and against other programs.

    First, sequential decoding with window attention: what sentence n of a document costs, with only what is in reach
    and with everything encoded again. Then sentence-level translation side by side with other programs, the same
    sentences (25 tokens), beam and token counts.

    Examples:

    ```
    fenster bench decode
    fenster bench decode --sentences 10 1000 --programs fenster "hugging face" ctranslate2
    ```

    Parameters
    ----------
    sentences
        Places in the document to measure at.
    naive
        Encode everything again up to this sentence only; it takes long.
    count
        Sentences for the comparison of programs.
    batch
        Sentences at a time there.
    programs
        Of fenster, fenster int8, hugging face (transformers) and ctranslate2; fenster alone by default.
    """
    import torch

    from fenster.bench import decode as bench_decode

    cuda = torch.cuda.is_available() if device is None else device == "cuda"
    if cuda and not torch.cuda.is_available():
        raise FensterError("there is no GPU here", fix="leave --device out to measure on the CPU")
    place = torch.device("cuda" if cuda else "cpu")
    known = ("fenster", "fenster int8", "hugging face", "ctranslate2")
    unknown = sorted(set(programs or ()) - set(known))
    if unknown:
        raise FensterError(f"no program is called {unknown[0]!r}", expected=", ".join(known))
    numbers = sorted(sentences or [10, 100, 300, 1000])
    table = Table("sentence", "in reach only", "everything again", "ratio", "memory", box=None)
    with bar("sentence by sentence", len(numbers)) as advance:
        for row in bench_decode.by_position(place, numbers, beam, naive):
            advance(1)
            again = (
                ("-", "-") if row.whole is None else (f"{1000 * row.whole:,.0f} ms", f"{row.whole / row.near:.1f}")
            )
            table.add_row(f"{row.number:,}", f"{1000 * row.near:,.0f} ms", *again, f"{row.memory / 2**30:.2f} GiB")
    Console(width=100).print(table)
    speeds = Table("program", "sentences/s", "target tokens/s", "ratio", "memory", box=None)
    first = None
    for speed in bench_decode.against(place, count, beam, batch, programs or ["fenster"]):
        first = first or speed.sentences
        speeds.add_row(
            speed.program,
            f"{speed.sentences:.2f}",
            f"{speed.tokens:,.0f}",
            f"{speed.sentences / first:.2f}",
            f"{speed.memory / 2**30:.2f} GiB",
        )
    Console(width=100).print(speeds)
    name = torch.cuda.get_device_name() if cuda else f"{torch.get_num_threads()} CPU threads"
    print(
        f"base model, 15k vocabulary, float32, beam {beam}, sentences of {bench_decode.SENTENCE} tokens, "
        f"{batch} at a time, {name}, torch {torch.__version__}"
    )
