"""`fenster bench train`, `decode` and `scale`: whole systems, ours and others' side by side."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console
from rich.table import Table

from fenster.bench.figures import JsonOption, machine, write_figures
from fenster.cli.options import ModelOption
from fenster.errors import ConfigError, FensterError, counted
from fenster.io.progress import bar, console

# Imports that bring torch stand inside the commands: the rest of the command line must not wait for it.


def train(
    *,
    device: Literal["cpu", "cuda"] | None = None,
    lengths: Annotated[list[int], Parameter(consume_multiple=True, negative="", validator=Number(gte=1))]
    | None = None,
    tokens: Annotated[int | None, Parameter(validator=Number(gte=1))] = None,
    systems: Annotated[list[str], Parameter(consume_multiple=True, negative="")] | None = None,
    seconds: Annotated[float, Parameter(validator=Number(gt=0))] = 5,
    compiled: Annotated[bool, Parameter(name="--compile", negative="--no-compile")] = True,
    json_: JsonOption = None,
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
        Of `nn.Transformer`, `full`, `window` and `window, ffn again` (less memory); all by default.
    seconds
        How long to measure each.
    compiled
        Compile the baseline (and ours on a GPU, with CUDA graphs).
    json_
        Keep the figures.
    """
    os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")  # as `fenster train` does
    import torch

    from fenster.bench import train as bench_train
    from fenster.io.machine import find_device

    on = torch.device(find_device(device or "auto"))
    cuda = on.type == "cuda"
    lengths = lengths or ([32, 1024, 32768] if cuda else [32, 1024])
    tokens = tokens or (32768 if cuda else 2048)
    unknown = sorted(set(systems or ()) - set(bench_train.SYSTEMS))
    if unknown:
        raise FensterError(f"no system is called {unknown[0]!r}", expected=", ".join(bench_train.SYSTEMS))
    chosen = systems or list(bench_train.SYSTEMS)
    table = Table("length", "system", "target tokens/s", "ratio", "memory", "first update", box=None)
    base: dict[int, float] = {}
    rows = []
    with bar("measuring", len(chosen) * len(lengths)) as advance:
        for system, length, cell in bench_train.run(on, lengths, tokens, chosen, seconds, compiled):
            advance(1)
            if cell is None:
                table.add_row(f"{length:,}", system, "out of memory", "-", "-", "-")
                console.print(f"{system}, length {length:,}: out of memory", highlight=False)
                continue
            base.setdefault(length, cell.tokens_per_second)
            ratio = cell.tokens_per_second / base[length]
            texts = (f"{cell.tokens_per_second:,.0f}", f"{ratio:.2f}", f"{cell.memory / 2**30:.2f} GiB")
            console.print(f"{system}, length {length:,}: {texts[0]} target tokens/s, {texts[2]}", highlight=False)
            table.add_row(f"{length:,}", system, *texts, f"{cell.first:.1f} s")
            rows.append({"system": system, "length": length, **asdict(cell)})
    Console(width=110).print(table)
    print(
        f"base model, 15k vocabulary, batches of {tokens:,} target tokens, "
        f"{'bfloat16' if cuda else 'float32'}, {'compiled' if compiled else 'not compiled'}, "
        f"{machine(on.type)}; ratio: to the first system of the same length"
    )
    if json_ is not None:
        figures = {"machine": machine(on.type), "tokens": tokens, "compiled": compiled, "rows": rows}
        write_figures(json_, figures)


def decode(
    *,
    device: Literal["cpu", "cuda"] | None = None,
    sentences: Annotated[list[int], Parameter(consume_multiple=True, negative="", validator=Number(gte=1))]
    | None = None,
    beam: Annotated[int, Parameter(validator=Number(gte=1))] = 4,
    naive: Annotated[int, Parameter(validator=Number(gte=0))] = 100,
    int8: Annotated[bool, Parameter(negative="")] = False,
    count: Annotated[int, Parameter(validator=Number(gte=1))] = 32,
    batch: Annotated[list[int], Parameter(consume_multiple=True, negative="", validator=Number(gte=1))] | None = None,
    programs: Annotated[list[str], Parameter(consume_multiple=True, negative="")] | None = None,
    layers: tuple[int, int] = (6, 6),
    rounds: Annotated[int, Parameter(validator=Number(gte=1))] = 5,
    json_: JsonOption = None,
) -> None:
    """Decoding speed of the base model with random weights: by position in a document, and against other programs.

    First, sequential decoding with window attention: the cost of sentence n of a document, encoding only what is in
    reach or encoding everything again. Then sentence-level translation side by side with other programs, with the
    same sentences (25 tokens), beam and token counts.

    Examples:

    ```
    fenster bench decode
    fenster bench decode --sentences 10 1000 --programs fenster "hugging face" ctranslate2
    fenster bench decode --int8 --sentences 1 100 300 1000 --naive 1000
    fenster bench decode --int8 --programs "fenster int8" "ctranslate2 int8" --layers 10 3 --batch 1 4 16
    ```

    Parameters
    ----------
    sentences
        Positions in the document at which to measure.
    naive
        Encode everything again only up to this sentence, since that takes long.
    int8
        8-bit weights for this first part, as on a CPU with a model exported in 8 bits.
    count
        Sentences for the comparison of programs.
    batch
        Sentences per batch in that comparison; 16 by default.
    programs
        Any of fenster, fenster float32, fenster int8, hugging face (transformers), hugging face tf32, ctranslate2,
        ctranslate2 int8 and ctranslate2 int8 workers (a worker with one thread for each core, instead of one with all
        threads); fenster alone by default. On a GPU, fenster multiplies in TF32 by default, Hugging Face does not.
    layers
        Layers of the encoder and the decoder in the comparison; the bundled model has 10 3.
    rounds
        Number of rounds, in which the programs take turns; medians are shown.
    json_
        Keep the figures.
    """
    import torch

    from fenster.bench import decode as bench_decode
    from fenster.io.machine import find_device

    on = torch.device(find_device(device or "auto"))
    unknown = sorted(set(programs or ()) - set(bench_decode.PROGRAMS))
    if unknown:
        raise FensterError(f"no program is called {unknown[0]!r}", expected=", ".join(bench_decode.PROGRAMS))
    if min(layers) < 1:
        raise FensterError(f"--layers is {layers[0]} {layers[1]}", expected="two numbers of at least 1")
    numbers = sorted(sentences or [10, 100, 300, 1000])
    table = Table("sentence", "in reach only", "everything again", "ratio", "memory", box=None)
    rows: list[bench_decode.SentenceTime] = []
    with bar("sentence by sentence", len(numbers)) as advance:
        for row in bench_decode.by_position(on, numbers, beam, naive, int8=int8):
            advance(1)
            rows.append(row)
            again = (
                ("-", "-") if row.whole is None else (f"{1000 * row.whole:,.0f} ms", f"{row.whole / row.near:.1f}")
            )
            table.add_row(f"{row.number:,}", f"{1000 * row.near:,.0f} ms", *again, f"{row.memory / 2**30:.2f} GiB")
    Console(width=100).print(table)
    total = bench_decode.whole_document(rows)
    if total is not None:
        print(
            f"a document of {numbers[-1]:,} sentences, interpolated: {total[0]:,.0f} s in reach only, "
            f"{total[1]:,.0f} s with everything again ({total[1] / total[0]:.1f}x)"
        )
    speeds = Table("batch", "program", "sentences/s", "target tokens/s", "ratio", "CPU s/sentence", box=None)
    shape, batches = (layers[0], layers[1]), batch or [16]
    measured: list[bench_decode.Speed] = []
    with bar("programs", len(batches) * len(programs or ["fenster"])) as advance:
        for speed in bench_decode.against(on, count, beam, batches, programs or ["fenster"], shape, rounds):
            advance(1)
            measured.append(speed)
            first = next(other for other in measured if other.batch == speed.batch)
            speeds.add_row(
                str(speed.batch),
                speed.program,
                f"{speed.sentences:,.2f}",
                f"{speed.tokens:,.0f}",
                f"{speed.sentences / first.sentences:.2f}",
                f"{speed.cpu:.3f}",
            )
    Console(width=100).print(speeds)
    if json_ is not None:
        figures = {
            "command": {"count": count, "beam": beam, "batch": batches, "layers": shape, "rounds": rounds},
            "device": on.type,
            "machine": machine(on.type),
            "threads": torch.get_num_threads(),
            "by_position": [asdict(row) for row in rows],
            "programs": [asdict(speed) for speed in measured],
        }
        write_figures(json_, figures)
    print(
        f"base model, {layers[0]} + {layers[1]} layers, 15k vocabulary, beam {beam}, sentences of "
        f"{bench_decode.SENTENCE} tokens, {machine(on.type)}"
    )


def scale(
    *,
    model: ModelOption = ModelOption(),
    workers: Annotated[list[int], Parameter(consume_multiple=True, negative="", validator=Number(gte=1))]
    | None = None,
    engines: Annotated[list[Literal["processes", "ray"]], Parameter(consume_multiple=True, negative="")]
    | None = None,
    documents: Annotated[int, Parameter(validator=Number(gte=8))] = 192,
    parts: Annotated[int, Parameter(validator=Number(gte=4))] = 24,
    threads: Annotated[int, Parameter(validator=Number(gte=1))] = 1,
    batch_size: Annotated[int, Parameter(validator=Number(gte=1))] = 32,
    device: Literal["cpu", "cuda"] = "cpu",
    json_: JsonOption = None,
) -> None:
    """Documents that several workers translate per second, compared with one worker.

    Documents of one to eight sentences in one shard. Time counts from when each worker has finished a part, so that
    start-up is excluded. Efficiency: the ratio to one worker, per worker.

    Examples:

    ```
    fenster bench scale --workers 1 2
    fenster bench scale --workers 1 2 4 --device cuda --documents 4096 --parts 64 --batch-size 128
    fenster bench scale --workers 1 2 --engines processes ray --json results/bench/scale.json
    ```

    Parameters
    ----------
    workers
        1 and 2 by default.
    engines
        processes (as --workers of translate) or ray (a cluster on this machine); processes by default.
    documents
        Documents per measurement.
    parts
        Parts that the documents are split into.
    threads
        Threads of each worker.
    batch_size
        Searches that each worker runs at once.
    device
        Where the workers run; they share a GPU.
    json_
        Keep the figures.
    """
    from fenster.bench.scale import measure
    from fenster.decode.config import DecodeConfig

    if parts < 4 * max(workers or [2]):
        raise ConfigError(f"--parts is {parts}", expected="at least four per worker")
    config = DecodeConfig(beam=4, threads=threads, batch_size=batch_size)
    rows = []
    for engine in engines or ["processes"]:
        for count in sorted({1, *(workers or [2])}):
            with console.status(f"{engine}, {counted(count, 'worker')}"):
                rows.append(measure(engine, count, model.folder, config, device, documents, parts))
    table = Table(
        "engine", "workers", "documents/s", "sentences/s", "ratio", "efficiency", "s, start-up too", box=None
    )
    for row in rows:
        alone = next(one for one in rows if one.engine == row.engine and one.workers == 1)
        ratio = row.rate / alone.rate
        sentences = row.rate * row.segments / row.documents
        table.add_row(
            row.engine,
            str(row.workers),
            f"{row.rate:.2f}",
            f"{sentences:.1f}",
            f"{ratio:.2f}",
            f"{ratio / row.workers:.0%}",
            f"{row.all_seconds:.1f}",
        )
    Console().print(table)
    if json_ is not None:
        write_figures(json_, [asdict(row) for row in rows])
