"""`fenster attention`: what a model attends to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rich.markup import escape
from rich.table import Table

from fenster.cli.evaluation_options import TestSetOption
from fenster.cli.options import Device, ModelOption, Output
from fenster.cli.output import save_result
from fenster.document import ParallelDocument
from fenster.errors import ConfigError
from fenster.evaluate.result import Result
from fenster.evaluate.system import System
from fenster.io.files import check_not_input
from fenster.io.progress import wide_console


def attention(
    *,
    model: ModelOption = ModelOption(),
    test_set: TestSetOption = TestSetOption(),
    tokens: int = 10_000,
    sentence: str | None = None,
    title: str | None = None,
    output: Output = None,
    device: Device = "auto",
) -> None:
    """Share of cross-attention on the sentence being translated (the paper's Table 1), by layer and head.

    References are force-decoded. With --output, the heat map of one sentence is saved too, for `fenster report`.

    Example: `fenster attention -m runs/europarl/concat-1000/model --test test.tsv.xz -o results/concat.json`

    Parameters
    ----------
    tokens
        Use about this many target tokens.
    sentence
        DOCUMENT:NUMBER (from 1) for the heat map; the third segment of the first document if left out.
    title
        The system's name in tables.
    output
        Keep the result as JSON.
    """
    from fenster.decode.attention_shares import probed, shares
    from fenster.decode.cross_attention import heat

    if tokens < 1:
        raise ConfigError(f"--tokens is {tokens}", expected="1 or more")
    check_not_input(output, test_set.paths)
    documents, name = test_set.read_with_source()
    document, number = _chosen(documents, sentence, name)
    loaded = model.load(device)
    probe, seen = probed(loaded, documents, tokens)
    lines, (mean, last) = shares(probe), probe.cross_share()
    config = loaded.description.model
    effective = config.variant.effective_context(config.encoder_layers, config.decoder_layers)
    result = Result(
        kind="attention",
        system=System.of(loaded).renamed(title),
        test=name,
        segments=seen,
        table=tuple(lines),
        extra={
            "cross": mean,
            "last": last,
            "effective_context": effective,
            "heat": asdict(heat(loaded, document, number)),
        },
    )
    if output is not None:
        save_result(result, output, test_set.files)
    table = Table("module", "share %", "entropy", "share by head", title=escape(result.system.name), box=None)
    for line in lines:
        heads = " ".join(f"{100 * value:.0f}" for value in line["heads"])
        table.add_row(line["module"], f"{100 * line['share']:.1f}", f"{line['entropy']:.2f}", heads)
    console = wide_console()
    console.print(table)
    context = "unlimited" if effective is None else f"{effective} tokens"
    console.print(
        f"cross-attention on the current sentence {100 * mean:.1f} % (last layer {100 * last:.1f} %); "
        f"effective context {context}; {seen:,} target tokens of {name}",
        markup=False,
    )


def _chosen(documents: Sequence[ParallelDocument], sentence: str | None, name: str) -> tuple[ParallelDocument, int]:
    """The document and segment (from 0) of the heat map."""
    wanted = sentence or f"{documents[0].id}:{min(3, len(documents[0]))}"
    id, _, number = wanted.rpartition(":")
    document = next((document for document in documents if document.id == id), None)
    if document is None or not number.isdecimal() or not 1 <= int(number) <= len(document):
        raise ConfigError(f"no sentence {sentence!r} in {name}", expected="DOCUMENT:NUMBER, from 1")
    return document, int(number) - 1
