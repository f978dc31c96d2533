"""Item sets such as ctxpro: a sentence after its preceding source sentences, and the form its translation needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fenster.data.text import normalise
from fenster.document import Document, ParallelDocument
from fenster.errors import InputError
from fenster.evaluate.evaluation import EvaluationOptions
from fenster.evaluate.metrics.base import Measurement
from fenster.evaluate.metrics.consistency import FORMALITY
from fenster.evaluate.metrics.form_f1 import FormF1
from fenster.evaluate.result import Result, resampling_unit, with_intervals
from fenster.evaluate.system import System
from fenster.evaluate.tagging.tokens import words
from fenster.evaluate.test_set import TranslatedTestSet
from fenster.io.files import TextFiles

_NEEDED = ("document", "src", "ref", "expected", "src context")


@dataclass(frozen=True)
class Item:
    """`expected` is the form, in small letters, that a translation of `source` must hold."""

    document: str
    context: tuple[str, ...]
    source: str
    reference: str
    expected: str

    def given(self, context: int | None) -> Document:
        """The item after its last `context` preceding sentences (all with None)."""
        kept = (
            self.context if context is None else self.context[len(self.context) - min(context, len(self.context)) :]
        )
        return Document.of(self.document, [*kept, self.source])


def read_items(path: Path, limit: int | None = None) -> list[Item]:
    """JSONL, one item per line. With `limit` items are taken evenly from the whole file, not from its beginning."""
    items = [_item(text, path, number) for number, text in TextFiles().lines(path) if text.strip()]
    if not items:
        raise InputError("no items", path=path, expected="JSONL, one item per line")
    if limit is None or limit >= len(items):
        return items
    return [items[index] for index in np.linspace(0, len(items) - 1, limit).round().astype(int)]


def _item(text: str, path: Path, number: int) -> Item:
    try:
        record: dict[str, Any] = json.loads(text)
        document, source, reference, expected, context = (record[key] for key in _NEEDED)
        context = [context] if isinstance(context, str) else list(context or ())
        for text_ in (source, reference, expected, *context):
            text_.encode("utf-8")  # half a surrogate pair is not text
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            "not an item", path=path, line=number, expected=f"a JSON object with {', '.join(_NEEDED)}"
        ) from None
    before = tuple(filter(None, map(normalise, context)))
    return Item(str(document), before, normalise(source), normalise(reference), normalise(expected).lower())


def holds(expected: str, translation: str) -> bool:
    """True if the expected form occurs in a translation: the set's own accuracy, letter case aside."""
    wanted, said = words(expected), words(translation.lower())
    last = len(said) - len(wanted)
    return bool(wanted) and any(said[at : at + len(wanted)] == wanted for at in range(last + 1))


def as_test_set(items: Sequence[Item], translations: Sequence[str]) -> TranslatedTestSet:
    """Items and their translations as a test set; all items of a document are one document."""
    groups: dict[str, list[int]] = {}
    for number, item in enumerate(items):
        groups.setdefault(item.document, []).append(number)
    documents = tuple(
        ParallelDocument(
            Document.of(name, [items[number].source for number in group]),
            Document.of(name, [items[number].reference for number in group]),
        )
        for name, group in groups.items()
    )
    return TranslatedTestSet(
        documents, tuple(tuple(translations[number] for number in group) for group in groups.values())
    )


def accuracy(items: Sequence[Item], translations: Sequence[str]) -> Measurement:
    """The share of items whose translation holds the expected form."""
    number = {name: index for index, name in enumerate(dict.fromkeys(item.document for item in items))}
    rows = [[holds(item.expected, text), 1] for item, text in zip(items, translations, strict=True)]
    document_index = np.array([number[item.document] for item in items])
    return Measurement("expected form", "share", np.array(rows, dtype=float), document_index, "any case, whole word")


ALL = "all"


def context_label(amount: int | None) -> str:
    """How many preceding sentences are given, in words."""
    return ALL if amount is None else str(amount)


def in_context(items: Sequence[Item], amount: int | None) -> tuple[ParallelDocument, ...]:
    """The items after `amount` preceding sentences, as documents to be translated; the target side is only its
    shape."""
    documents = []
    for number, item in enumerate(items):
        source = item.given(amount)
        name = f"{source.id}-{number}"
        documents.append(ParallelDocument(Document(name, source.segments), Document.of(name, [""] * len(source))))
    return tuple(documents)


def evaluate_items(
    items: Sequence[Item], outputs: Sequence[str], system: System, name: str, variant: str, options: EvaluationOptions
) -> Result:
    """Expected form and formality F1 of the items' translations."""
    test_set, counter = as_test_set(items, outputs), options.counter()
    unit = resampling_unit(len(test_set.documents), options.unit)
    measurements = [accuracy(items, outputs)]
    if counter is not None:
        measurements += [m for m in FormF1().measure(test_set, counter) if FORMALITY in m.name]
    return Result(
        kind="items",
        system=system,
        test=f"{name}, {variant} preceding",
        variant=variant,
        unit=unit,
        names=tuple(document.id for document in test_set.documents) if unit == "documents" else (),
        segments=len(items),
        scores=with_intervals(measurements, len(test_set.documents), unit, options.samples),
        extra={"set": name},
    )
