"""`fenster contrapro`: contrastive test sets, scored by a model or by any other system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from fenster.cli.evaluation_options import CountingOption
from fenster.cli.options import (
    Decoding,
    Device,
    Flag,
    Limit,
    ModelOption,
    Output,
    for_single_items,
)
from fenster.cli.output import print_result, save_result
from fenster.data.corpora.contrapro import DEFAULT_CONTEXT, ContrastiveItem, Documents, read_items
from fenster.decode.config import DecodeConfig
from fenster.errors import ConfigError, InputError
from fenster.evaluate.evaluation import evaluate
from fenster.evaluate.metrics.contrastive import accuracy, as_documents, categories, read_scores
from fenster.evaluate.metrics.expected_form import Item, as_test_set
from fenster.evaluate.result import Result, resampling_unit, with_intervals
from fenster.evaluate.system import System
from fenster.evaluate.test_set import read_hypotheses
from fenster.evaluate.translations import translate_test_set, translations_path
from fenster.io.files import TextFiles, atomic_text, check_not_input
from fenster.io.progress import bar, wide_console


def contrapro(
    items: Path,
    /,
    *,
    scores: Path | None = None,
    maximize: Flag = False,
    model: ModelOption = ModelOption(),
    documents: Path | None = None,
    left: int | None = None,
    right: int = 0,
    scoring_alignment: str | None = None,
    limit: Limit = None,
    title: str | None = None,
    write_scores: Path | None = None,
    translate: Flag = False,
    decoding: Decoding = DecodeConfig(),
    counting: CountingOption = CountingOption(),
    output: Output = None,
    device: Device = "auto",
) -> None:
    """Contrastive accuracy: how often the true translation scores above all wrong ones.

    Scores are read from a file, one per line: for each item that of the reference, then those of its variants (as for
    ContraPro's own evaluator; lower is better). Or they are computed with a model, as the log-probability of the
    whole sequence, gold context included. Ties and NaN count as wrong.

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
        One score per line.
    maximize
        With --scores: higher is better.
    documents
        ContraPro's folder of documents, for more context than the set itself contains.
    left
        Preceding segments; default: none for sentence-level models, k for those with k sentences of context, else 4.
    right
        Following segments (needs --documents).
    scoring_alignment
        Alignment of windows for scoring; by default that of training; give sent-align to cross-check.
    limit
        Use only this many items, from the start of the set.
    title
        The system's name in tables.
    translate
        Also translate the items in their context, and evaluate the items themselves (the paper's ContraPro BLEU and
        pronoun F1); the decoding and metric options apply only to this.
    write_scores
        Also write the model's scores, as negative log-probabilities.
    output
        Keep the result as JSON.
    """
    if scores is not None and model.model is not None:
        raise ConfigError("both scores and a model were given", expected="either --scores or --model")
    if scores is not None and (write_scores is not None or translate or scoring_alignment is not None):
        raise ConfigError(
            "--write-scores, --translate and --scoring-alignment need a model", fix="leave --scores out"
        )
    if decoding.alignment is not None and not translate:
        raise ConfigError("--alignment applies only to --translate", fix="use --scoring-alignment for scoring")
    for name, count in (("--left", left), ("--right", right)):
        if count is not None and count < 0:
            raise ConfigError(f"{name} is {count}", expected="0 or more")
    if translate:
        translations_path(output)
    if output is not None and write_scores is not None and output.resolve() == write_scores.resolve():
        raise ConfigError("--output and --write-scores name the same file", path=output)
    for written in (output, write_scores):
        check_not_input(written, [items, scores])
    loaded = None if scores is not None else model.load(device)
    if loaded is not None and left is None:
        preceding = loaded.description.context.preceding
        left = DEFAULT_CONTEXT if preceding is None else preceding
    contrastive = _read(items, documents, DEFAULT_CONTEXT if left is None else left, right)
    if loaded is None:
        assert scores is not None
        values, system = read_scores(scores, contrastive)[:limit], System(name=title or scores.stem)
        contrastive = contrastive[:limit]
    else:
        from fenster.decode.scoring import score_items

        contrastive, maximize = contrastive[:limit], True
        with bar("scoring", len(contrastive)) as advance:
            values = score_items(loaded, contrastive, scoring_alignment, advance)
        alignment = loaded.model.variant.alignment and (scoring_alignment or loaded.model.variant.alignment)
        system = System.of(loaded).renamed(title).model_copy(update={"alignment": alignment})
        if write_scores is not None:
            with atomic_text(write_scores) as stream:
                stream.writelines(f"{-value}\n" for candidates in values for value in candidates)
    result = _result(contrastive, values, maximize, system, items, {"left": left, "right": right})
    if output is not None:
        save_result(result, output, {"items": [items]})
    print_result(result)
    _print_categories(result)
    if translate:
        assert output is not None
        _translate(contrastive, result, model, decoding, device, output, counting)


def _read(path: Path, documents: Path | None, left: int, right: int) -> list[ContrastiveItem]:
    around = None if documents is None else Documents(documents)
    items = list(read_items(path, TextFiles(), documents=around, left=left, right=right))
    for number, item in enumerate(items, 1):
        if not item.contrastive:
            raise InputError(f"item {number} has no contrastive variant", path=path)
    if not items:
        raise InputError("no items", path=path)
    return items


def _result(
    items: Sequence[ContrastiveItem],
    values: Sequence[Sequence[float]],
    maximize: bool,
    system: System,
    path: Path,
    extra: dict[str, Any],
) -> Result:
    names = tuple({item.document.id: None for item in items})
    unit = resampling_unit(len(names))
    return Result(
        kind="contrastive",
        system=system,
        test=path.name.split(".json")[0],
        unit=unit,
        names=names if unit == "documents" else (),
        segments=len(items),
        scores=with_intervals([accuracy(items, values, maximize)], len(names), unit),
        table=tuple(map(asdict, categories(items, values, maximize))),
        extra=extra,
    )


def _translate(
    items: Sequence[ContrastiveItem],
    first: Result,
    model: ModelOption,
    decoding: DecodeConfig,
    device: str,
    output: Path,
    counting: CountingOption,
) -> None:
    """Translate the items in their context, and evaluate the items themselves: the paper's BLEU and pronoun F1."""
    decoding = for_single_items(decoding, model.folder)
    path = translations_path(output)
    translator = model.translator(decoding, device)
    # Right context helps only a search that sees the whole document.
    whole = decoding.strategy == "full-segment" and translator.loaded.description.context.preceding is None
    documents = as_documents(items, whole)
    problems = translate_test_set(documents, translator, path)
    outputs = [texts[item.index] for item, texts in zip(items, read_hypotheses(path, documents), strict=True)]
    alone = [
        Item(item.document.id, (), pair.source.texts[item.index], pair.target.texts[item.index], "")
        for item, pair in zip(items, documents, strict=True)
    ]
    system = System.of(translator.loaded, decoding, translator.strategy.name).renamed(first.system.name)
    result = evaluate(as_test_set(alone, outputs), system, first.test, counting.options)
    result = result.model_copy(update={"extra": problems | first.extra})
    translated = output.with_name(output.name.removesuffix(".json") + ".translated.json.xz")
    save_result(result, translated, {"hypotheses": [path]})
    print_result(result)


def _print_categories(result: Result) -> None:
    """The breakdown, in the published evaluator's terms: correct, total, fraction."""
    table = Table("", "", "correct", "total", "fraction", box=None)
    for line in result.table:
        fraction = f"{line['right'] / line['total']:.4f}"
        table.add_row(line["kind"], line["name"], f"{line['right']}", f"{line['total']}", fraction)
    wide_console().print(table)
