"""`fenster distance`: how far back a system can see."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from fenster.cli.evaluation_options import CountingOption, TestSetOption
from fenster.cli.options import Output
from fenster.cli.output import save_result
from fenster.errors import ConfigError, InputError
from fenster.evaluate.metrics.consistency import FORMALITY
from fenster.evaluate.metrics.distance import bins, generated, read_decisions, registers
from fenster.evaluate.result import Result
from fenster.evaluate.system import System
from fenster.evaluate.test_set import TranslatedTestSet, read_hypotheses
from fenster.io.files import check_not_input
from fenster.io.progress import wide_console


def distance(
    hypotheses: Path,
    /,
    *,
    test_set: TestSetOption = TestSetOption(),
    decisions: Path | None = None,
    title: str | None = None,
    output: Output = None,
    counting: CountingOption = CountingOption(),
) -> None:
    """Accuracy on choices that depend on an earlier sentence, by the distance to it in sentences and words.

    With --decisions (from `fenster data generate`), these are the choices of generated documents. Without it, they
    are choices of register in real documents, decided by the nearest earlier sentence whose reference shows one.

    Examples:

    ```
    fenster distance hyp.txt --test toy.jsonl --decisions toy.decisions.jsonl -o results/window.distance.json
    fenster distance hyp.txt --test chat.test.tsv.xz
    ```

    Parameters
    ----------
    hypotheses
        Translations of the test set, one line per segment.
    decisions
        The choices of generated documents.
    title
        The system's name in tables.
    output
        Keep the result as JSON.
    """
    check_not_input(output, [hypotheses, decisions, *test_set.paths])
    documents, name = test_set.read_with_source()
    texts = TranslatedTestSet(documents, read_hypotheses(hypotheses, documents))
    if decisions is not None:
        choices = generated(texts, read_decisions(decisions))
    else:
        counter = counting.options.counter()
        if counter is None or FORMALITY not in counter.rules.scores:
            raise ConfigError(
                "choices of register need --rules that include formality; generated documents need --decisions"
            )
        choices = registers(texts, counter)
    by_distance = bins(choices)
    if not by_distance:
        raise InputError("found no choice that depends on an earlier sentence", path=hypotheses)
    result = Result(
        kind="distance",
        system=System(name=title or hypotheses.stem),
        test=name,
        segments=len(texts.outputs),
        table=tuple(map(asdict, by_distance)),
    )
    if output is not None:
        save_result(result, output, {"hypotheses": [hypotheses], **test_set.files})
    title = escape(f"{result.system.name} on {name}")
    table = Table("distance", "", "choice", "right", "of", "%", title=title, box=None)
    for line in by_distance:
        share = f"{100 * line.right / line.total:.1f}"
        table.add_row(line.label, line.unit, line.kind, f"{line.right}", f"{line.total}", share)
    wide_console().print(table)
