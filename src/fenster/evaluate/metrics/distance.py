"""How far back may the sentence be that decides a choice? Accuracy by distance, in sentences and in words.

On generated documents the deciding sentence is known. In real ones it is taken to be the nearest earlier sentence
whose reference shows the register; choices are the sentences whose reference shows exactly one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fenster.data.corpora.synthetic import Decision
from fenster.errors import InputError
from fenster.evaluate.metrics.form_f1 import FormCounter
from fenster.evaluate.test_set import TranslatedTestSet
from fenster.io.files import TextFiles

SENTENCES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
WORDS = (10, 20, 40, 80, 160, 320, 640)
"""Upper ends of the bins; beyond the last is a bin of its own."""


@dataclass(frozen=True)
class Choice:
    document: int
    kind: str
    right: bool
    sentences: int
    """From the deciding sentence; 1 is the one just before."""
    words: int
    """Source words after the deciding sentence, up to the end of the one that depends on it."""


@dataclass(frozen=True)
class Bin:
    unit: str
    label: str
    kind: str
    right: int
    total: int
    middle: float
    """Mean distance of its choices, for plots."""


def read_decisions(path: Path) -> dict[str, list[Decision]]:
    """What `fenster data generate --decisions` wrote, by document."""
    decisions: dict[str, list[Decision]] = {}
    for number, text in TextFiles().lines(path):
        if not text.strip():
            continue
        try:
            entry = json.loads(text)
            decision = Decision(
                entry["segment"],
                entry["kind"],
                entry["expected"],
                tuple(entry["options"]),
                entry["segment"] - entry["distance"],
            )
            decisions.setdefault(entry["document"], []).append(decision)
        except (ValueError, KeyError, TypeError):
            raise InputError(
                "not a choice", path=path, line=number, expected="what `fenster data generate --decisions` writes"
            ) from None
    return decisions


def generated(texts: TranslatedTestSet, decisions: dict[str, list[Decision]]) -> list[Choice]:
    """The choices of generated documents."""
    names = {document.id for document in texts.documents}
    if missing := sorted(decisions.keys() - names):
        raise InputError(f"choices in document {missing[0]!r}, which the test set does not have")
    choices = []
    for number, (document, outputs) in enumerate(zip(texts.documents, texts.hypotheses, strict=True)):
        sizes = _sizes(document.source.texts)
        for decision in decisions.get(document.id, ()):
            if not 0 <= decision.decided_by < decision.segment < len(document):
                raise InputError(
                    f"document {document.id!r} has {len(document)} segments, but a choice is in segment "
                    f"{decision.segment}, decided by {decision.decided_by} (from 0)"
                )
            right = decision.right(outputs[decision.segment])
            between = int(sizes[decision.decided_by + 1 : decision.segment + 1].sum())
            choices.append(Choice(number, decision.kind, right, decision.distance, between))
    return choices


def registers(texts: TranslatedTestSet, counter: FormCounter, score: str = "formality") -> list[Choice]:
    """The choices of register in real documents: by how far back the reference showed it last."""
    active = counter.active(score, texts.sources)
    gold = counter.count(score, active, texts.references[0]) > 0
    made = counter.count(score, active, texts.outputs) > 0
    choices, at = [], 0
    for number, document in enumerate(texts.documents):
        sizes, last = _sizes(document.source.texts), None
        for index in range(len(document)):
            shown, chosen = gold[at + index], made[at + index]
            if not shown.any():
                continue
            if last is not None and shown.sum() == 1:
                between = int(sizes[last + 1 : index + 1].sum())
                choices.append(Choice(number, "register", bool((shown == chosen).all()), index - last, between))
            last = index
        at += len(document)
    return choices


def bins(choices: Iterable[Choice]) -> list[Bin]:
    """Accuracy by distance, for each kind of choice, in both units."""
    chosen = list(choices)
    rows = []
    for unit, ends in (("sentences", SENTENCES), ("words", WORDS)):
        for kind in sorted({choice.kind for choice in chosen}):
            of_kind = [choice for choice in chosen if choice.kind == kind]
            distances = np.array([getattr(choice, unit) for choice in of_kind])
            bin_number = np.searchsorted(ends, distances)
            for number in range(len(ends) + 1):
                inside = np.flatnonzero(bin_number == number)
                if len(inside):
                    right = sum(of_kind[n].right for n in inside)
                    middle = float(distances[inside].mean())
                    rows.append(Bin(unit, _label(ends, number), kind, right, len(inside), middle))
    return rows


def _label(ends: Sequence[int], number: int) -> str:
    if number == len(ends):
        return f">{ends[-1]}"
    first = 1 if number == 0 else ends[number - 1] + 1
    return str(ends[number]) if first == ends[number] else f"{first}-{ends[number]}"


def _sizes(texts: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([len(text.split()) for text in texts], dtype=np.int64)
