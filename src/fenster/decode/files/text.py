"""Plain text: one output line per input line, blank lines stay blank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fenster.data.sentence_split import sentences
from fenster.data.text import normalise
from fenster.decode.files.base import DocumentFormat, FileOptions, FileSegment, ParsedFile
from fenster.decode.result import Translated
from fenster.io.files import TextLines


@dataclass(frozen=True)
class Line:
    """A line of the input and the segments it was split into; a blank line has one empty segment."""

    number: int
    segments: tuple[str, ...]

    @property
    def is_blank(self) -> bool:
        return self.segments == ("",)


@dataclass(frozen=True)
class TextDocument(ParsedFile):
    groups: Sequence[Sequence[Line]]
    """The lines of each document."""
    options: FileOptions

    @property
    def documents(self) -> Sequence[Sequence[FileSegment]]:  # type: ignore[override]
        return [[FileSegment(text, line.number) for line in group for text in line.segments] for group in self.groups]

    def render(self, translated: Iterator[Translated]) -> Iterator[str]:
        for group in self.groups:
            for line in group:
                yield " ".join(next(translated).text for _ in line.segments) + "\n"


class TextFormat(DocumentFormat):
    suffixes = (".txt",)
    about = "one translated line per line"

    def parse(self, lines: TextLines, options: FileOptions) -> TextDocument:
        return TextDocument(split_lines(lines, options), options)


def split_lines(lines: TextLines, options: FileOptions) -> list[list[Line]]:
    """Lines split into sentences, in documents."""
    parsed = []
    for number, text in lines:
        segments = (normalise(text),) if options.one_sentence_per_line else tuple(sentences(text, options.language))
        parsed.append(Line(number, segments or ("",)))
    return _documents(parsed) if options.documents else [parsed]


def _documents(lines: list[Line]) -> list[list[Line]]:
    """Lines between blank ones; blank lines stay at the end of the document before them."""
    groups: list[list[Line]] = [[]]
    for line in lines:
        if not line.is_blank and groups[-1] and groups[-1][-1].is_blank:
            groups.append([])
        groups[-1].append(line)
    return groups
