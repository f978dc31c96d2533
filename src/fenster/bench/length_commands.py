"""`fenster bench attention` and `memory`: one module and one training step, by the length of a document."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console
from rich.table import Table

from fenster.bench.figures import JsonOption, machine, write_figures
from fenster.errors import FensterError
from fenster.io.plotting import check_plot_path
from fenster.io.progress import bar, console

if TYPE_CHECKING:
    from fenster.bench.attention import Cell

# Imports that bring torch stand inside the commands: the rest of the command line must not wait for it.


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
    json_: JsonOption = None,
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
    json_
        Keep the figures.
    """
    if plot is not None:
        check_plot_path(plot)
    from fenster.bench import attention as bench_attention
    from fenster.io.machine import find_device

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
    measured: list[tuple[bench_attention.Setting, Cell]] = []
    with bar("measuring", len(settings)) as advance:
        for setting, cell in bench_attention.run(settings):
            advance(1)
            console.print(f"{setting.way}, {setting.length:,} tokens: {_cell(cell)}", highlight=False)
            if cell is not None:
                measured.append((setting, cell))
    cells = {(setting.way, setting.length): cell for setting, cell in measured}
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
    print(
        f"forward + backward, {'float32' if device == 'cpu' else 'bfloat16'}, {heads} heads of {size}, "
        f"w = {window}, {positions} positions{', causal' if causal else ''}, {machine(device)}"
    )
    if json_ is not None:
        rows = [{**asdict(setting), **asdict(cell)} for setting, cell in measured]
        write_figures(json_, {"machine": machine(device), "rows": rows})
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


def memory(
    *,
    lengths: Annotated[list[int], Parameter(consume_multiple=True, negative="", validator=Number(gte=1))]
    | None = None,
    systems: Annotated[list[str], Parameter(consume_multiple=True, negative="")] | None = None,
    plot: Path | None = None,
    json_: JsonOption = None,
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
    json_
        Keep the figures.
    """
    if plot is not None:
        check_plot_path(plot)
    from fenster.bench import step

    lengths = lengths or [736, 1472, 2208]
    known = {system.name: system for system in step.SYSTEMS}
    unknown = sorted(set(systems or ()) - set(known))
    if unknown:
        raise FensterError(f"no system is called {unknown[0]!r}", expected="; ".join(known))
    chosen = [known[name] for name in systems or known]
    rows: list[dict[str, Any]] = []
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
                rows.append({"system": system.name, "length": length, **asdict(cell)})
                text = f"{cell.allocated / 1e9:.2f} GB ({cell.reserved / 1e9:.2f}), {1000 * cell.seconds:,.0f} ms"
            console.print(f"{system.name}, {length:,} tokens: {text}", highlight=False)
            cells.setdefault(system.name, []).append(text)
    for name, texts in cells.items():
        points = measured[name]
        slope = "-"
        if len(points) > 1:
            low, high = min(points), max(points)
            slope = f"{(points[high][1] - points[low][1]) / (high - low) / 1e6:.2f}"
        table.add_row(name, *texts, slope)
    Console(width=max(100, 30 * (len(lengths) + 1) + 12)).print(table)
    print("peak allocated (reserved), base model, 15k vocabulary, one document, forward + backward + Adam")
    if json_ is not None:
        write_figures(json_, {"machine": machine("cuda"), "rows": rows})
    if plot is not None:
        from fenster.bench.plot import by_length

        by_length(plot, "one training step, base model", measured)
        print(f"-> {plot}")
