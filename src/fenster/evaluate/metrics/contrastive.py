"""Contrastive accuracy (ContraPro and sets like it): does the true translation score above every wrong one?

Ties are wrong, and so is NaN, as in the published evaluator. Items are grouped by the set's
own records, never by equal source lines.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fenster.data.corpora.contrapro import ContrastiveItem
from fenster.document import Document, ParallelDocument
from fenster.errors import InputError
from fenster.evaluate.metrics.base import Measurement
from fenster.io.files import TextFiles

_FAR = 3  # antecedents beyond this many segments are one category


@dataclass(frozen=True)
class Category:
    """One line of the evaluator's output."""

    kind: str
    name: str
    right: int
    total: int

    @property
    def share(self) -> float:
        return self.right / self.total if self.total else math.nan


def read_scores(path: Path, items: Sequence[ContrastiveItem]) -> list[list[float]]:
    """Scores of each item's candidates, the true one first: one number per line, as for the published evaluator."""
    numbers: list[float] = []
    for line, text in TextFiles().lines(path):
        try:
            numbers.append(float(text.split()[0]))
        except (ValueError, IndexError):
            raise InputError("not a number", path=path, line=line, expected="one score per line") from None
    wanted = sum(1 + len(item.contrastive) for item in items)
    if len(numbers) != wanted:
        raise InputError(
            f"has {len(numbers)} scores",
            path=path,
            expected=f"{wanted}: for each of {len(items)} items the reference, then its contrastive variants",
        )
    scores, at = [], 0
    for item in items:
        count = 1 + len(item.contrastive)
        scores.append(numbers[at : at + count])
        at += count
    return scores


def right(scores: Sequence[float], maximize: bool) -> bool:
    """True if the first is strictly better than all others."""
    true, *others = scores
    return all((true > other) if maximize else (true < other) for other in others)


def accuracy(items: Sequence[ContrastiveItem], scores: Sequence[Sequence[float]], maximize: bool) -> Measurement:
    """The total accuracy, with items of one document resampled together in significance tests."""
    names = {item.document.id: None for item in items}
    number = {name: index for index, name in enumerate(names)}
    rows = [[right(candidates, maximize), 1] for candidates in scores]
    document_index = [number[item.document.id] for item in items]
    return Measurement("contrastive accuracy", "share", np.array(rows, dtype=float), np.array(document_index))


def categories(items: Sequence[ContrastiveItem], scores: Sequence[Sequence[float]], maximize: bool) -> list[Category]:
    """By pronoun pair, by whether the antecedent is in the segment itself, by its distance, by pair and distance."""
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for item, candidates in zip(items, scores, strict=True):
        hit = right(candidates, maximize)
        for key in _kinds(item.record):
            sums[key][0] += hit
            sums[key][1] += 1
    order = ("pronoun pair", "intrasegmental", "antecedent distance", "pair at distance")
    ordered = sorted(sums.items(), key=lambda entry: (order.index(entry[0][0]), entry[0][1]))
    return [Category(kind, name, *counts) for (kind, name), counts in ordered]


def _kinds(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    pair = ":".join(str(record.get(key, "unknown")).lower() for key in ("src pronoun", "ref pronoun"))
    inside, distance = record.get("intrasegmental"), record.get("ante distance")
    if inside is None and isinstance(distance, int):
        inside = distance == 0
    far = "unknown" if not isinstance(distance, int) else str(distance) if distance <= _FAR else f">{_FAR}"
    return [
        ("pronoun pair", pair),
        ("intrasegmental", str(inside) if isinstance(inside, bool) else "None"),
        ("antecedent distance", far),
        ("pair at distance", f"{pair} {far}"),
    ]


def as_documents(items: Sequence[ContrastiveItem], with_right_context: bool) -> tuple[ParallelDocument, ...]:
    """The items as documents to be translated, one each; right context helps only a search that sees all of it."""
    documents = []
    for number, item in enumerate(items):
        end = None if with_right_context else item.index + 1
        name = f"{item.document.id}-{number}"
        source, target = (side.texts[:end] for side in (item.document.source, item.document.target))
        documents.append(ParallelDocument(Document.of(name, source), Document.of(name, target)))
    return tuple(documents)
