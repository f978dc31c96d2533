"""Item sets such as ctxpro: a sentence after its preceding source sentences, and the form its translation needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fenster.corpus.files import TextFiles
from fenster.corpus.text import normalise
from fenster.document import Document, ParallelDocument
from fenster.errors import InputError
from fenster.evaluate.measure import Measure
from fenster.evaluate.tagging.tokens import words
from fenster.evaluate.texts import Evaluated

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
    """JSONL, an item a line. With `limit` items are taken evenly from the whole file, not from its beginning."""
    found = [_item(text, path, number) for number, text in TextFiles().lines(path) if text.strip()]
    if not found:
        raise InputError("there is no item", path=path, expected="JSONL, an item a line")
    if limit is None or limit >= len(found):
        return found
    return [found[place] for place in np.linspace(0, len(found) - 1, limit).round().astype(int)]


def _item(text: str, path: Path, number: int) -> Item:
    try:
        record: dict[str, Any] = json.loads(text)
        document, source, reference, expected, context = (record[key] for key in _NEEDED)
        context = [context] if isinstance(context, str) else list(context or ())
        for each in (source, reference, expected, *context):
            each.encode("utf-8")  # half a surrogate pair is no text
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            "not an item", path=path, line=number, expected=f"a JSON object with {', '.join(_NEEDED)}"
        ) from None
    before = tuple(filter(None, map(normalise, context)))
    return Item(str(document), before, normalise(source), normalise(reference), normalise(expected).lower())


def holds(expected: str, translation: str) -> bool:
    """Whether the expected form occurs in a translation: the set's own accuracy, letter case aside."""
    return expected in words(translation.lower())


def evaluated(items: Sequence[Item], translations: Sequence[str]) -> Evaluated:
    """Items and their translations as a test set; all items of a document are one document."""
    groups: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        groups.setdefault(item.document, []).append(place)
    documents = tuple(
        ParallelDocument(
            Document.of(name, [items[place].source for place in group]),
            Document.of(name, [items[place].reference for place in group]),
        )
        for name, group in groups.items()
    )
    return Evaluated(documents, tuple(tuple(translations[place] for place in group) for group in groups.values()))


def accuracy(items: Sequence[Item], translations: Sequence[str]) -> Measure:
    """The share of items whose translation holds the expected form."""
    number = {name: place for place, name in enumerate(dict.fromkeys(item.document for item in items))}
    rows = [[holds(item.expected, text), 1] for item, text in zip(items, translations, strict=True)]
    owner = np.array([number[item.document] for item in items])
    return Measure("expected form", "share", np.array(rows, dtype=float), owner, "any case, whole word")
