"""Plain text: one output line per input line, blank lines stay blank, and so does the layout around the words.

White space at both ends, the marks of lists, headings and quoted mail, tabs and columns, and line ends are kept as
they are; what is between them is split into sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fenster.data.sentence_split import sentences
from fenster.data.text import normalise
from fenster.decode.files.base import DocumentFormat, FileOptions, FileSegment, ParsedFile
from fenster.decode.result import Translated
from fenster.io.files import FileSource

_MARKS = re.compile(r"\s*(?:>\s?)*(?:(?:[-*+•‣◦·–—]|\(?\d{1,3}[.)]|\(?[a-z]\)|#{1,6}|\[[ xX]\])\s+)*")
_COLUMNS = re.compile(r"(\s*\t\s*| {3,})")


@dataclass(frozen=True)
class Line:
    """A line of the input: layout and runs of sentences in turn, layout first and last."""

    number: int
    layout: tuple[str, ...]
    runs: tuple[tuple[str, ...], ...]
    """The sentences between two pieces of layout; a blank line has one empty segment."""
    end: str = "\n"

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(sentence for run in self.runs for sentence in run)

    @property
    def is_blank(self) -> bool:
        return self.segments == ("",)

    def render(self, translated: Iterator[Translated]) -> str:
        parts = [self.layout[0]]
        for run, layout in zip(self.runs, self.layout[1:], strict=True):
            parts += [" ".join(next(translated).text for _ in run), layout]
        return "".join(parts) + self.end


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
                yield line.render(translated)


class TextFormat(DocumentFormat):
    suffixes = (".txt",)
    about = "one translated line per line, layout kept"

    def parse(self, source: FileSource, options: FileOptions) -> TextDocument:
        return TextDocument(split_lines(source, options), options)


def split_lines(source: FileSource, options: FileOptions) -> list[list[Line]]:
    """Lines split into sentences, in documents."""
    lines = []
    for (number, text), end in zip(source.lines(), source.line_ends(), strict=True):
        if options.one_sentence_per_line:
            lines.append(Line(number, ("", ""), ((normalise(text),),), end))
        else:
            lines.append(_with_layout(number, text, end, options.language))
    return _documents(lines) if options.documents else [lines]


def _with_layout(number: int, text: str, end: str, language: str) -> Line:
    marks = _MARKS.match(text)
    assert marks is not None  # it may be empty
    before, rest = marks.group(), text[marks.end() :]
    inner = rest.rstrip()
    if not inner:
        # Only marks and white space.
        return Line(number, (text, ""), (("",),), end)
    columns = _COLUMNS.split(inner)
    layout = (before, *columns[1::2], rest[len(inner) :])
    runs = tuple(tuple(sentences(column, language)) or ("",) for column in columns[::2])
    return Line(number, layout, runs, end)


def _documents(lines: list[Line]) -> list[list[Line]]:
    """Lines between blank ones; blank lines stay at the end of the document before them."""
    groups: list[list[Line]] = [[]]
    for line in lines:
        if not line.is_blank and groups[-1] and groups[-1][-1].is_blank:
            groups.append([])
        groups[-1].append(line)
    return groups
