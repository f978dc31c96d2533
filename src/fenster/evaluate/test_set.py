"""What is evaluated: a test set and one system's translations of it, read from plain files.

Hypotheses may come from any system. They have one line per segment, or are laid out as the test set is, with blank
lines between documents; an empty line where the test set has text is an empty translation, and is scored as one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fenster.data.corpora.plain import parallel_lines
from fenster.data.text import normalise
from fenster.document import Document, ParallelDocument
from fenster.errors import InputError
from fenster.io.files import TextFiles, bare_suffix


@dataclass(frozen=True)
class TranslatedTestSet:
    """`hypotheses[d][n]` translates segment n of `documents[d]`, whose target side is the reference."""

    documents: tuple[ParallelDocument, ...]
    hypotheses: tuple[tuple[str, ...], ...]
    with_source: bool = True
    """True if the source is known; metrics that need it are left out otherwise."""

    def __post_init__(self) -> None:
        sizes = [len(document) for document in self.documents]
        if sizes != [len(texts) for texts in self.hypotheses]:
            raise ValueError("there must be exactly one hypothesis per segment")

    @cached_property
    def sources(self) -> list[str]:
        return [text for document in self.documents for text in document.source.texts]

    @cached_property
    def references(self) -> list[list[str]]:
        """One list of segments for each reference that all documents have."""
        count = 1 + min(len(document.references) for document in self.documents)
        return [
            [text for document in self.documents for text in (document.target, *document.references)[number].texts]
            for number in range(count)
        ]

    @cached_property
    def outputs(self) -> list[str]:
        return [text for texts in self.hypotheses for text in texts]

    @cached_property
    def document_index(self) -> npt.NDArray[np.int64]:
        """The document of each segment."""
        return np.repeat(np.arange(len(self.documents)), [len(document) for document in self.documents])


def read_hypotheses(path: Path, documents: Sequence[ParallelDocument]) -> tuple[tuple[str, ...], ...]:
    """The translations of a test set's documents; a file with a different number of segments is an error."""
    lines = _lines(path)
    total = sum(len(document) for document in documents)
    if len(lines) != total:
        lines = (
            _without_breaks(lines, documents) or _as_laid_out(lines, documents) or _unequal(path, lines, documents)
        )
    hypotheses, at = [], 0
    for document in documents:
        hypotheses.append(tuple(lines[at : at + len(document)]))
        at += len(document)
    return tuple(hypotheses)


def read_lines(
    source: Path | None, references: Sequence[Path], names: Path | None = None
) -> tuple[ParallelDocument, ...]:
    """A test set of line-aligned files. Lines that are blank in all of them end a document, or `names` has each
    line's document; blank lines elsewhere are empty segments."""
    paths = [*([source] if source is not None else []), *references, *([names] if names is not None else [])]
    groups: list[tuple[str, list[tuple[str, ...]]]] = []
    lines: list[list[int]] = []
    fresh = True
    for number, raw in parallel_lines(paths, TextFiles()):
        row = tuple(normalise(text) for text in raw)
        if names is not None:
            name, row = row[-1], row[:-1]
            fresh = not groups or groups[-1][0] != name
        else:
            if not any(row):
                fresh = True
                continue
            name = groups[-1][0] if groups and not fresh else str(len(groups) + 1)
        if fresh:
            groups.append((name, []))
            lines.append([])
        groups[-1][1].append(row)
        lines[-1].append(number)
        fresh = False
    if not groups:
        raise InputError("no text", path=paths[0], expected="at least one line")
    return tuple(
        _document(name, rows, source is not None, str(paths[0]), numbers)
        for (name, rows), numbers in zip(groups, lines, strict=True)
    )


def _document(
    name: str, rows: list[tuple[str, ...]], with_source: bool, path: str, lines: list[int]
) -> ParallelDocument:
    sides = [Document.of(name, column) for column in zip(*rows, strict=True)]
    if not with_source:
        sides.insert(0, Document.of(name, [""] * len(rows)))
    return ParallelDocument(sides[0], sides[1], tuple(sides[2:]), path, lines)


def _lines(path: Path) -> list[str]:
    """Lines of text, or the targets of what `fenster translate --format jsonl` wrote."""
    lines = list(TextFiles().lines(path))
    if bare_suffix(path) != ".jsonl":
        return [normalise(text) for _, text in lines]
    targets = []
    for number, text in lines:
        try:
            targets.append(normalise(json.loads(text)["target"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError(
                "not a translated segment", path=path, line=number, expected='{"target": "…", …}'
            ) from None
    return targets


def _as_laid_out(lines: list[str], documents: Sequence[ParallelDocument]) -> list[str] | None:
    """The segments of a file whose lines are those of the test set's own file; None if that does not fit."""
    numbers = [number for document in documents for number in document.lines]
    distinct = len({*numbers}) == sum(map(len, documents))  # not in JSONL, where a line is a document
    if not numbers or not distinct or max(numbers) > len(lines):
        return None
    between = set(range(1, len(lines) + 1)) - set(numbers)
    return None if any(lines[number - 1] for number in between) else [lines[number - 1] for number in numbers]


def _without_breaks(lines: list[str], documents: Iterable[ParallelDocument]) -> list[str] | None:
    """The segments of a file in which one blank line stands between documents; None if that does not fit."""
    at, segments = 0, []
    for number, document in enumerate(documents):
        if number:
            if at >= len(lines) or lines[at]:
                return None
            at += 1
        segments += lines[at : at + len(document)]
        at += len(document)
    return segments if at == len(lines) else None


def _unequal(path: Path, lines: list[str], documents: Sequence[ParallelDocument]) -> list[str]:
    total = sum(len(document) for document in documents)
    where = documents[0].path or "the test set"
    raise InputError(
        f"has {len(lines)} lines, but {where} has {total} segments in {len(documents)} documents",
        path=path,
        expected=f"{total} lines, one per segment, or {total + len(documents) - 1} with a blank line between "
        "documents",
        fix="translate the test set again with one sentence per line",
    )
