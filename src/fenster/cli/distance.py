"""`fenster distance` and `fenster attention`: how far back a system can see, and where it looks."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.markup import escape
from rich.table import Table

from fenster.cli.decoding import described, model_folder
from fenster.cli.evaluate import keep
from fenster.cli.test_set import Counting, TestSet
from fenster.corpus.files import not_over
from fenster.errors import ConfigError, InputError
from fenster.evaluate.distance import bins, generated, read_decisions, registers
from fenster.evaluate.result import Result, System
from fenster.evaluate.texts import Evaluated, read_hypotheses
from fenster.progress import wide_console


def distance(
    hypotheses: Path,
    /,
    *,
    test_set: TestSet = TestSet(),
    decisions: Path | None = None,
    title: str | None = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    counting: Counting = Counting(),
) -> None:
    """Accuracy of choices that an earlier sentence decides, by the distance to it in sentences and words.

    With --decisions (from `fenster data generate`) the choices of generated documents. Without, the choices of
    register in real documents, the deciding sentence being the nearest earlier one whose reference shows it.

    Examples:

    ```
    fenster distance hyp.txt --test toy.jsonl --decisions toy.decisions.jsonl -o results/window.distance.json
    fenster distance hyp.txt --test chat.test.tsv.xz
    ```

    Parameters
    ----------
    hypotheses
        Translations of the test set, a line a segment.
    decisions
        The choices of generated documents.
    title
        The system's name in tables.
    output
        Keep the result as JSON.
    """
    not_over(output, [hypotheses, decisions, *test_set.paths])
    documents, with_source, name = test_set.read()
    if not with_source:
        raise ConfigError("the source is needed", fix="give --src, or --test")
    texts = Evaluated(documents, read_hypotheses(hypotheses, documents))
    if decisions is not None:
        choices = generated(texts, read_decisions(decisions))
    else:
        counter = counting.options.counter()
        if counter is None or "formality" not in counter.rules.scores:
            raise ConfigError(
                "choices of register need --rules with formality, those of generated documents --decisions"
            )
        choices = registers(texts, counter)
    found = bins(choices)
    if not found:
        raise InputError("no choice that an earlier sentence decides was found", path=hypotheses)
    result = Result(
        kind="distance",
        system=System(name=title or hypotheses.stem),
        test=name,
        segments=len(texts.outputs),
        table=tuple(asdict(each) for each in found),
    )
    table = Table(
        "distance", "", "choice", "right", "of", "%", title=escape(f"{result.system.name} on {name}"), box=None
    )
    for each in found:
        share = f"{100 * each.right / each.total:.1f}"
        table.add_row(each.label, each.unit, each.kind, f"{each.right}", f"{each.total}", share)
    if output is not None:
        keep(result, output, {"hypotheses": [hypotheses], **test_set.files})
    wide_console().print(table)


def attention(
    *,
    model: Annotated[Path, Parameter(name=["--model", "-m"])],
    test_set: TestSet = TestSet(),
    system: str | None = None,
    tokens: int = 10_000,
    sentence: str | None = None,
    title: str | None = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """Share of cross-attention on the sentence being translated (the paper's Table 1), by layer and head.

    References are force-decoded. The heat map of a chosen sentence is kept with --output, for `fenster report`.

    Example: `fenster attention -m runs/europarl/concat-1000/model --test test.tsv.xz -o results/concat.json`

    Parameters
    ----------
    model
        A model folder.
    system
        A run below --model.
    tokens
        Look at about this many target tokens.
    sentence
        DOCUMENT:NUMBER (from 1) for the heat map; the third segment of the first document if left out.
    title
        The system's name in tables.
    output
        Keep the result as JSON.
    """
    from fenster.decode import attention as looking
    from fenster.model.device import find_device
    from fenster.model.saved import load_model

    if tokens < 1:
        raise ConfigError(f"--tokens is {tokens}", expected="1 or more")
    not_over(output, test_set.paths)
    documents, with_source, name = test_set.read()
    if not with_source:
        raise ConfigError("the source is needed", fix="give --src, or --test")
    saved = load_model(model_folder(model, system), find_device(device))
    probe, seen = looking.probed(saved, documents, tokens)
    shares, (mean, last) = looking.shares(probe), probe.cross_share()
    id, _, number = (sentence or f"{documents[0].id}:{min(3, len(documents[0]))}").rpartition(":")
    chosen = next((each for each in documents if each.id == id), None)
    if chosen is None or not number.isdecimal() or not 1 <= int(number) <= len(chosen):
        raise ConfigError(f"no sentence {sentence!r} in {name}", expected="DOCUMENT:NUMBER, from 1")
    who = described(saved)
    result = Result(
        kind="attention",
        system=who.model_copy(update={"name": title or who.name}),
        test=name,
        segments=seen,
        table=tuple(shares),
        extra={
            "cross": mean,
            "last": last,
            "effective_context": looking.effective_context(saved.description.model),
            "heat": asdict(looking.heat(saved, chosen, int(number) - 1)),
        },
    )
    reach = result.extra["effective_context"]
    summary = f"cross-attention on the current sentence {100 * mean:.1f} % (last layer {100 * last:.1f} %)"
    around = "not limited" if reach is None else f"{reach} tokens"
    table = Table("module", "share %", "entropy", "share by head", title=escape(result.system.name), box=None)
    for line in shares:
        heads = " ".join(f"{100 * value:.0f}" for value in line["heads"])
        table.add_row(line["module"], f"{100 * line['share']:.1f}", f"{line['entropy']:.2f}", heads)
    if output is not None:
        keep(result, output, test_set.files)
    console = wide_console()
    console.print(table)
    console.print(f"{summary}; effective context {around}; {seen:,} target tokens of {name}", markup=False)
