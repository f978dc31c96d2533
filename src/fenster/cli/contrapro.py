"""`fenster contrapro`: contrastive test sets, scored by a model or by anyone else."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.table import Table

from fenster.cli.decoding import Decoding, described, model_folder, suited
from fenster.cli.evaluate import keep, show
from fenster.cli.test_set import Counting
from fenster.cli.translations import hypotheses_path, translated
from fenster.context import begins
from fenster.corpus.contrapro import ContrastiveItem, Documents, read_items
from fenster.corpus.files import TextFiles, atomic_text, not_over
from fenster.document import Document, ParallelDocument
from fenster.errors import ConfigError, InputError
from fenster.evaluate.contrastive import accuracy, categories, read_scores
from fenster.evaluate.evaluation import evaluate
from fenster.evaluate.items import Item, evaluated
from fenster.evaluate.result import Result, System, drawn, scored
from fenster.evaluate.texts import read_hypotheses
from fenster.progress import bar, wide_console

if TYPE_CHECKING:
    from fenster.model.saved import Saved

_AT_ONCE = 64  # items between two advances of the bar


def contrapro(
    items: Path,
    /,
    *,
    scores: Path | None = None,
    maximize: Annotated[bool, Parameter(negative="")] = False,
    model: Annotated[Path | None, Parameter(name=["--model", "-m"])] = None,
    system: str | None = None,
    documents: Path | None = None,
    left: int | None = None,
    right: int = 0,
    alignment: str | None = None,
    limit: Annotated[int | None, Parameter(validator=Number(gte=1))] = None,
    title: str | None = None,
    write_scores: Path | None = None,
    translate: Annotated[bool, Parameter(negative="")] = False,
    decoding: Decoding = Decoding(),
    counting: Counting = Counting(),
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """Contrastive accuracy: how often the true translation scores above all wrong ones.

    Scores come from a file, one a line, for each item the reference and then its variants (as ContraPro's own
    evaluator reads them, lower being better), or are computed with a model: the log-probability of the whole
    sequence, gold context included. Ties and scores that are not numbers count as wrong.

    Examples:

    ```
    fenster contrapro contrapro.json --scores scores.txt
    fenster contrapro contrapro.json.xz --model runs/europarl/window/model -o results/window.contrapro.json
    fenster contrapro contrapro.json --model MODEL --documents documents/ --left 4 --right 4
    ```

    Parameters
    ----------
    items
        A contrastive set in ContraPro's JSON form.
    scores
        A score a line.
    maximize
        With --scores: higher is better.
    model
        Score with this model.
    system
        A run below --model.
    documents
        ContraPro's folder of documents, for more context than the set itself carries.
    left
        Preceding segments; by default none for sentence-level models, k for those with k sentences of context, or 4.
    right
        Following segments (needs --documents).
    alignment
        Of windows; that of training if left out, sent-align as a check.
    limit
        Only the first items.
    title
        The system's name in tables.
    translate
        Also translate the items in their context, and evaluate the items themselves (the paper's ContraPro BLEU and
        pronoun F1); the options of decoding and counting are for this.
    write_scores
        Also write the model's scores, as negative log-probabilities.
    output
        Keep the result as JSON.
    """
    if (scores is None) == (model is None):
        raise ConfigError("whose scores?", expected="either --scores or --model")
    if scores is not None and (write_scores is not None or translate or alignment is not None):
        raise ConfigError("--write-scores, --translate and --alignment need --model")
    for name, count in (("--left", left), ("--right", right)):
        if count is not None and count < 0:
            raise ConfigError(f"{name} is {count}", expected="0 or more")
    if translate:
        hypotheses_path(output)
    if output is not None and write_scores is not None and output.resolve() == write_scores.resolve():
        raise ConfigError("--output and --write-scores name one file", path=output)
    for written in (output, write_scores):
        not_over(written, [items, scores])
    saved = _load(model, system, device) if model is not None else None
    if saved is not None and left is None:
        left = _left(saved)
    around = Documents(documents) if documents is not None else None
    found = list(read_items(items, TextFiles(), documents=around, left=4 if left is None else left, right=right))
    for number, item in enumerate(found, 1):
        if not item.contrastive:
            raise InputError(f"item {number} has no contrastive variant", path=items)
    if not found:
        raise InputError("there is no item", path=items)
    if saved is None:
        assert scores is not None
        values, who = read_scores(scores, found)[:limit], System(name=title or scores.stem)
        found = found[:limit]
    else:
        found = found[:limit]
        values, maximize = _score(saved, found, alignment), True
        who = described(saved)
        attention = saved.description.model.attention
        trained = attention.alignment if attention.kind == "window" else None
        who = who.model_copy(update={"name": title or who.name, "alignment": trained and (alignment or trained)})
        if write_scores is not None:
            with atomic_text(write_scores) as stream:
                stream.writelines(f"{-value}\n" for each in values for value in each)
    measure = accuracy(found, values, maximize)
    names = tuple({item.document.id: None for item in found})
    unit = drawn(len(names))
    result = Result(
        kind="contrastive",
        system=who,
        test=items.name.split(".json")[0],
        unit=unit,
        names=names if unit == "documents" else (),
        segments=len(found),
        scores=scored([measure], len(names), unit),
        table=tuple(asdict(each) for each in categories(found, values, maximize)),
        extra={"left": left, "right": right},
    )
    if output is not None:
        keep(result, output, {"items": [items]})
    show(result)
    show_table(result)
    if translate:
        assert model is not None
        _translate(found, result, model_folder(model, system), decoding, device, output, counting)


def _translate(
    items: list[ContrastiveItem],
    first: Result,
    folder: Path,
    decoding: Decoding,
    device: str,
    output: Path | None,
    counting: Counting,
) -> None:
    """Translate the items in their context, and evaluate the items themselves: the paper's BLEU and pronoun F1."""
    from fenster.model.saved import read_description

    decoding = suited(decoding, folder)
    path = hypotheses_path(output)
    whole = read_description(folder).context.kind == "document" and decoding.strategy == "full-segment"
    documents = tuple(_shown(item, place, whole) for place, item in enumerate(items))
    who, faults = translated(documents, folder, decoding, device, path)
    lines = [found[item.index] for item, found in zip(items, read_hypotheses(path, documents), strict=True)]
    alone = [
        Item(item.document.id, (), pair.source.texts[item.index], pair.target.texts[item.index], "")
        for item, pair in zip(items, documents, strict=True)
    ]
    who = who.model_copy(update={"name": first.system.name})
    result = evaluate(evaluated(alone, lines), who, first.test, counting.options)
    result = result.model_copy(update={"extra": faults | first.extra})
    assert output is not None
    keep(result, output.with_name(output.name.removesuffix(".json") + ".translated.json.xz"), {"hypotheses": [path]})
    show(result)


def _shown(item: ContrastiveItem, place: int, whole: bool) -> ParallelDocument:
    """An item as a document to be translated: with its right context only where the search sees a whole document."""
    end = None if whole else item.index + 1
    name = f"{item.document.id}-{place}"
    source, target = (Document.of(name, side.texts[:end]) for side in (item.document.source, item.document.target))
    return ParallelDocument(source, target)


def show_table(result: Result) -> None:
    """The breakdown, in the published evaluator's terms: correct, total, fraction."""
    table = Table("", "", "correct", "total", "fraction", box=None)
    for line in result.table:
        table.add_row(
            line["kind"], line["name"], f"{line['right']}", f"{line['total']}", f"{line['right'] / line['total']:.4f}"
        )
    wide_console().print(table)


def _load(model: Path, system: str | None, device: str) -> Saved:
    from fenster.model.device import find_device
    from fenster.model.saved import load_model

    return load_model(model_folder(model, system), find_device(device))


def _left(saved: Saved) -> int:
    context = saved.description.context
    return 0 if context.kind == "sentence" else context.k if context.kind == "adjacent" else 4


def _score(saved: Saved, items: list[ContrastiveItem], alignment: str | None) -> list[list[float]]:
    from fenster.decode.score import score

    context = saved.description.context
    found: list[list[float]] = []
    with bar("scoring", len(items)) as advance:
        for begin in range(0, len(items), _AT_ONCE):
            group = items[begin : begin + _AT_ONCE]
            sides = [
                (item.document.source.texts, target)
                for item in group
                for target in (
                    item.document.target.texts,
                    *(item.variant(number) for number in range(len(item.contrastive))),
                )
            ]
            bod = [begins(context, 0, item.index) for item in group for _ in range(1 + len(item.contrastive))]
            totals = iter([each.total for each in score(saved, sides, alignment=alignment, bod=bod)])
            found += [[next(totals) for _ in range(1 + len(item.contrastive))] for item in group]
            advance(len(group))
    return found
