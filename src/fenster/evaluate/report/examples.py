"""Stretches of documents side by side, with the forms of each register marked (the paper's Table 7)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from fenster.data.corpora import FORMATS, read_corpus
from fenster.document import ParallelDocument
from fenster.errors import InputError
from fenster.evaluate.metrics.form_f1 import FormCounter
from fenster.evaluate.report.collect import Collection, Placed, label, main_strategy
from fenster.evaluate.rules import load_rules
from fenster.evaluate.tagging import TAGGERS
from fenster.evaluate.test_set import TranslatedTestSet, read_hypotheses, read_lines

_SEGMENTS = 8  # of a stretch, as in the paper
_SCORE = "formality"

Marked = tuple[tuple[str, str], ...]
"""A text in pieces, each with the class of forms it belongs to, or ""."""


@dataclass(frozen=True)
class Example:
    test: str
    document: str
    first: int
    columns: tuple[str, ...]
    """Source, reference, then systems."""
    rows: tuple[tuple[Marked, ...], ...]


def examples(collection: Collection, rules: str, count: int, say: Callable[[str], None]) -> Iterator[Example]:
    """The stretches in which systems differ most in register, `count` of each test set whose files exist; `say`
    is called with the reason if a set has none."""
    loaded = load_rules(rules)
    if _SCORE not in loaded.scores:
        return say(f"no examples: the rules have no score called {_SCORE}")
    counter = FormCounter(loaded, TAGGERS["lists"](loaded.source), TAGGERS["lists"](loaded.target))
    for test in collection.tests() if count else ():
        systems = [
            placed for placed in main_strategy(collection.of("translation", test)) if placed.files("hypotheses")
        ]
        try:
            documents = _documents(systems[0]) if systems else None
            if documents is None:
                say(f"no examples of {test}: its translations or its test set no longer exist")
                continue
            texts = [
                TranslatedTestSet(documents, read_hypotheses(placed.files("hypotheses")[0], documents))
                for placed in systems
            ]
        except InputError as error:
            say(f"no examples of {test}: {error.what}")
            continue
        yield from _stretches(test, texts, [label(placed.result) for placed in systems], counter, count)
    return None


def _documents(placed: Placed) -> tuple[ParallelDocument, ...] | None:
    if corpus := placed.files("test"):
        name = placed.result.extra.get("format")
        return tuple(read_corpus(corpus, FORMATS[name] if name else None))
    source, references = placed.files("source"), placed.files("references")
    names = placed.files("documents")
    return read_lines(source[0], references, *names) if source and references else None


def _stretches(
    test: str, texts: list[TranslatedTestSet], names: list[str], counter: FormCounter, count: int
) -> Iterator[Example]:
    first = texts[0]
    active = counter.active(_SCORE, first.sources)
    sides = [first.references[0], *(test_set.outputs for test_set in texts)]
    counts = np.stack([counter.count(_SCORE, active, side) for side in sides])  # [sides, segments, classes]
    # A segment is worth showing for its forms, and more so where a system has not the reference's.
    worth = counts.sum((0, 2)) + 4 * np.abs(counts[1:] - counts[:1]).sum((0, 2))
    taken: set[int] = set()
    spans = []
    at = 0
    for number, document in enumerate(first.documents):
        for begin in range(max(1, len(document) - _SEGMENTS + 1)):
            end = min(begin + _SEGMENTS, len(document))
            spans.append((int(worth[at + begin : at + end].sum()), number, begin, end, at))
        at += len(document)
    for value, number, begin, end, offset in sorted(spans, key=lambda span: -span[0]):
        if len(taken) == count or not value:
            return
        if number in taken:
            continue
        taken.add(number)
        rows = []
        for segment in range(offset + begin, offset + end):
            forms = {
                word: name
                for on, (name, words) in zip(active[segment], counter.rules.forms[_SCORE].items(), strict=True)
                for word in words
                if on
            }
            plain: Marked = ((first.sources[segment], ""),)
            rows.append((plain, *(_marked(side[segment], forms) for side in sides)))
        columns = ("source", "reference", *names)
        yield Example(test, first.documents[number].id, begin + 1, columns, tuple(rows))


def _marked(text: str, forms: dict[str, str]) -> Marked:
    pieces = re.split(r"(\w+)", text)
    return tuple((piece, forms.get(piece, "")) for piece in pieces if piece)
