"""The values that flow through everything: Segment, Document, ParallelDocument.

A segment is one unit of translation (usually a sentence); a document is its segments in order. All are
immutable and hold text as it is after `data.text.normalise`; nothing here knows files, ids or models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Mark(NamedTuple):
    """Inline markup at `text[start:end]` of a segment: protected, and moved with the words that it belongs to. An
    opening mark and its closing one share a `pair`; a single mark has none."""

    start: int
    end: int
    pair: int | None = None
    opens: bool = False


class Segment(NamedTuple):
    """One sentence (or line, or subtitle). `id` is the name its source file gave it, "" if none; `register` is how
    its translation should address people (formal, informal), "" to leave that open."""

    text: str
    id: str = ""
    register: str = ""
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """Segments in reading order under one name."""

    id: str
    segments: tuple[Segment, ...]

    @classmethod
    def of(cls, id: str, texts: Iterable[str]) -> Document:
        return cls(id, tuple(Segment(text) for text in texts))

    @property
    def texts(self) -> list[str]:
        return [segment.text for segment in self.segments]

    def __len__(self) -> int:
        return len(self.segments)


@dataclass(frozen=True, slots=True)
class ParallelDocument:
    """A document and its translation, segment by segment.

    `references` holds further translations (test sets with several references), each parallel as well.
    `path` and `lines` say where each pair came from, for error messages only: `lines[i]` is the line of
    pair i (a range where pairs are consecutive lines, so that it costs nothing). `target_path` and
    `target_lines` say the same of the target side where that is another file.
    """

    source: Document
    target: Document
    references: tuple[Document, ...] = ()
    path: str = ""
    lines: Sequence[int] = ()
    target_path: str = ""
    target_lines: Sequence[int] = ()

    def __post_init__(self) -> None:
        for other in (self.target, *self.references):
            if len(other) != len(self.source):
                raise ValueError(
                    f"sides of a parallel document must have equal segment counts, "
                    f"but document {self.id!r} has {len(self.source)} and {len(other)}"
                )

    @property
    def id(self) -> str:
        return self.source.id

    def place(self, index: int, *, target: bool = False) -> tuple[str | None, int | None]:
        """(file, line) of a side of pair `index`, as far as the reader knew."""
        path, lines = self.path, self.lines
        if target and self.target_path:
            path, lines = self.target_path, self.target_lines
        return path or None, lines[index] if index < len(lines) else None

    def same_text(self, other: ParallelDocument) -> bool:
        """Equal in everything but where it was read from."""
        return (self.source, self.target, self.references) == (other.source, other.target, other.references)

    def __len__(self) -> int:
        return len(self.source)
