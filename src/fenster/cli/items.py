"""`fenster items`: sentences that depend on their context (ctxpro), translated with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fenster.cli.evaluation_options import CountingOption
from fenster.cli.options import (
    Decoding,
    Device,
    Limit,
    ModelOption,
    Output,
    for_single_items,
)
from fenster.cli.output import print_result, save_result
from fenster.decode.config import DecodeConfig
from fenster.errors import ConfigError
from fenster.evaluate.metrics.expected_form import ALL, context_label, evaluate_items, in_context, read_items
from fenster.evaluate.system import System
from fenster.evaluate.test_set import read_hypotheses
from fenster.evaluate.translations import translate_test_set, translations_path
from fenster.io.files import check_not_input


def items(
    path: Path,
    /,
    *,
    model: ModelOption = ModelOption(),
    hyp: Path | None = None,
    given: Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")] = None,
    limit: Limit = None,
    title: str | None = None,
    output: Output = None,
    counting: CountingOption = CountingOption(),
    decoding: Decoding = DecodeConfig(),
    device: Device = "auto",
) -> None:
    """Translate items with 0, 1, 2, 4 and all preceding sentences given; expected form and formality F1 for each.

    An item set (such as ctxpro) is JSONL: `src`, `ref`, `expected` (the form that the translation must contain),
    `document` and `src context`, the preceding source sentences.

    Examples:

    ```
    fenster items formality.jsonl.xz --model runs/default/model --limit 500 -o results/ctxpro
    fenster items formality.jsonl.xz --hyp translations.txt --given all
    ```

    Parameters
    ----------
    hyp
        Translations of the items themselves, one per line, by any system; --given then says how much context it had.
    given
        How many preceding sentences to give as context: numbers, or all.
    limit
        Only this many items, taken evenly from the whole set.
    title
        The system's name in tables.
    output
        A folder for results and translations, one for each amount of context.
    """
    if hyp is not None and model.model is not None:
        raise ConfigError("more than one thing to evaluate", expected="either --hyp or --model")
    if hyp is None and output is None:
        raise ConfigError("--output is required to translate", fix="give --output FOLDER, or translations with --hyp")
    amounts = [_amount(text) for text in given or ("0", "1", "2", "4", "all")]
    if hyp is not None and len(amounts) != 1:
        raise ConfigError("the context of these translations is not known", fix="give --given 0, or --given all")
    chosen, name = read_items(path, limit), path.name.split(".jsonl")[0]
    results = (
        {} if output is None else {amount: output / f"{name}.{context_label(amount)}.json" for amount in amounts}
    )
    for written in results.values():
        check_not_input(written, [path, hyp])
        if hyp is None:
            translations_path(written)
    translator = None
    if hyp is None:
        decoding = for_single_items(decoding, model.folder)
        translator = model.translator(decoding, device)
    for amount in amounts:
        documents = in_context(chosen, amount if hyp is None else 0)
        if translator is not None:
            file = translations_path(results[amount])
            translate_test_set(documents, translator, file)
            system = System.of(translator.loaded, decoding, translator.strategy.name).renamed(title)
        else:
            assert hyp is not None
            file, system = hyp, System(name=title or hyp.stem)
        outputs = [texts[-1] for texts in read_hypotheses(file, documents)]
        result = evaluate_items(chosen, outputs, system, name, context_label(amount), counting.options)
        if amount in results:
            save_result(result, results[amount], {"hypotheses": [file], "items": [path]})
        print_result(result)


def _amount(text: str) -> int | None:
    if text != ALL and not text.isdecimal():
        raise ConfigError(f"--given is {text!r}", expected="numbers of preceding sentences, or all")
    return None if text == ALL else int(text)
