"""`fenster items`: sentences that need their context (ctxpro), translated after it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from fenster.cli.decoding import Decoding, model_folder, suited
from fenster.cli.evaluate import keep, show
from fenster.cli.test_set import Counting
from fenster.cli.translations import hypotheses_path, translated
from fenster.corpus.files import not_over
from fenster.document import Document, ParallelDocument
from fenster.errors import ConfigError
from fenster.evaluate.classes import class_scores
from fenster.evaluate.items import Item, accuracy, evaluated, read_items
from fenster.evaluate.result import Result, System, drawn, scored
from fenster.evaluate.texts import read_hypotheses


def items(
    path: Path,
    /,
    *,
    model: Annotated[Path | None, Parameter(name=["--model", "-m"])] = None,
    system: str | None = None,
    hyp: Path | None = None,
    given: Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")] = None,
    limit: Annotated[int | None, Parameter(validator=Number(gte=1))] = None,
    title: str | None = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    counting: Counting = Counting(),
    decoding: Decoding = Decoding(),
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """Translate items after 0, 1, 2, 4 and all of their preceding sentences; expected form and formality F1 for each.

    An item set (such as ctxpro) is JSONL: `src`, `ref`, `expected` (the form that the translation must hold),
    `document` and `src context`, the preceding source sentences.

    Examples:

    ```
    fenster items formality.jsonl.xz --model runs/default/model --limit 500 -o results/ctxpro
    fenster items formality.jsonl.xz --hyp translations.txt --given all
    ```

    Parameters
    ----------
    model
        Translate with this model.
    system
        A run below --model.
    hyp
        Translations of the items alone, a line each, by any system; --given then says what context it had.
    given
        Preceding sentences: numbers, or all.
    limit
        Only this many items, taken evenly from the whole set.
    title
        The system's name in tables.
    output
        A folder for results and translations, one for each amount of context.
    """
    if (hyp is None) == (model is None):
        raise ConfigError("what is to be evaluated?", expected="either --hyp or --model")
    if model is not None and output is None:
        raise ConfigError("where do the translations go?", fix="give --output FOLDER")
    amounts = [_amount(each) for each in given or ("0", "1", "2", "4", "all")]
    if hyp is not None and len(amounts) != 1:
        raise ConfigError("what context did these translations have?", fix="give --given 0, or --given all")
    found, name = read_items(path, limit), path.name.split(".jsonl")[0]
    results = {} if output is None else {amount: output / f"{name}.{_label(amount)}.json" for amount in amounts}
    files = {} if model is None else {amount: hypotheses_path(results[amount]) for amount in amounts}
    for written in results.values():
        not_over(written, [path, hyp])
    if model is not None:
        decoding = suited(decoding, model_folder(model, system))
    for amount in amounts:
        file, who = files.get(amount, hyp), System(name=title or "")
        assert file is not None
        if model is not None:
            documents = tuple(_target(item, amount, place) for place, item in enumerate(found))
            who, _ = translated(documents, model_folder(model, system), decoding, device, file)
            who = who.model_copy(update={} if title is None else {"name": title})
            texts = [each[-1] for each in read_hypotheses(file, documents)]
        else:
            alone = tuple(_target(item, 0, place) for place, item in enumerate(found))
            texts = [each[0] for each in read_hypotheses(file, alone)]
            who = who.model_copy(update={} if title else {"name": file.stem})
        result = _result(found, texts, who, name, _label(amount), counting)
        if amount in results:
            keep(result, results[amount], {"hypotheses": [file], "items": [path]})
        show(result)


def _amount(text: str) -> int | None:
    if text != "all" and not text.isdecimal():
        raise ConfigError(f"--given is {text!r}", expected="numbers of preceding sentences, or all")
    return None if text == "all" else int(text)


def _label(amount: int | None) -> str:
    return "all" if amount is None else str(amount)


def _target(item: Item, amount: int | None, place: int) -> ParallelDocument:
    """The item in its context as a document to be translated; the target side is only its shape."""
    source = item.given(amount)
    return ParallelDocument(
        Document(f"{source.id}-{place}", source.segments), Document.of(f"{source.id}-{place}", [""] * len(source))
    )


def _result(found: list[Item], texts: list[str], who: System, name: str, label: str, counting: Counting) -> Result:
    options = counting.options
    whole = evaluated(found, texts)
    counter = options.counter()
    unit = drawn(len(whole.documents), options.unit)
    measures = [accuracy(found, texts)]
    measures += [each for each in class_scores(whole, counter) if "formality" in each.name] if counter else []
    return Result(
        kind="items",
        system=who,
        test=f"{name}, {label} preceding",
        variant=label,
        unit=unit,
        names=tuple(document.id for document in whole.documents) if unit == "documents" else (),
        segments=len(found),
        scores=scored(measures, len(whole.documents), unit, options.samples),
        extra={"set": name},
    )
