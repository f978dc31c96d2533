"""Plain text: one output line per input line; blank lines stay blank, and the layout around the words is kept.

White space at both ends, the marks of lists, headings and quoted mail, tabs and columns, and line ends are kept as
they are; what is between them is split into sentences. A paragraph that was wrapped at some width is translated as a
whole and wrapped again, so that it may have more or fewer lines.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TypeVar

from fenster.data.sentence_split import sentences
from fenster.data.text import normalise
from fenster.decode.files.base import DocumentFormat, FileOptions, FileSegment, ParsedFile
from fenster.decode.files.inline import numbers_heading
from fenster.decode.result import Translated
from fenster.io.files import FileSource
from fenster.language.spans import SpanFinder

_MARKS = re.compile(r"\s*(?:>\s?)*(?:(?:[-*+•‣◦·–—]|\(?\d{1,3}[.)]|\(?[a-z]\)|#{1,6}|\[[ xX]\])\s+)*")
_COLUMNS = re.compile(r"(\s*\t\s*| {3,})")
_NOT_PROSE = re.compile(r"[|{}]|[;=]$|^\w+://|^\W*$|[=<>]=|\(\)|\t| {3,}")
_PROTECTED = SpanFinder()
_MOST_LINES = 200  # of a paragraph
_NARROWEST, _WIDEST = 40, 120  # characters of the lines of a paragraph that was wrapped
_PLAIN = ("", "")  # the layout of a line that is all text; one object for all of them, since there are many
_BLANK = ("",)  # the segments of a blank line, likewise

EndedLine = tuple[tuple[int, str], str]
"""((number, text), end) of a line."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the input: layout and sentences in turn, layout first and last."""

    number: int
    layout: tuple[str, ...]
    segments: tuple[str, ...]
    """Sentences; a blank line has one empty segment."""
    end: str = "\n"
    sizes: tuple[int, ...] = ()
    """How many of the segments stand between two pieces of layout, if there are more than two pieces."""

    @property
    def is_blank(self) -> bool:
        return self.segments == ("",)

    def render(self, translated: Iterator[Translated]) -> str:
        parts = [self.layout[0]]
        for size, layout in zip(self.sizes or (len(self.segments),), self.layout[1:], strict=True):
            parts += [" ".join(next(translated).text for _ in range(size)), layout]
        return "".join(parts) + self.end


@dataclass(frozen=True)
class WrappedParagraph:
    """Lines that were wrapped at some width, and are one text."""

    number: int
    """Of its first line."""
    raw: str
    first: str
    """What its first line begins with, and the others."""
    other: str
    width: int
    segments: tuple[str, ...]
    end: str
    is_blank = False

    def render(self, translated: Iterator[Translated]) -> str:
        texts = [next(translated).text for _ in self.segments]
        if texts == list(self.segments):
            return self.raw
        lines = textwrap.wrap(
            _unbreakable(" ".join(texts), self.segments),
            self.width,
            initial_indent=self.first,
            subsequent_indent=self.other,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return "".join(line.replace("\0", " ") + self.end for line in lines)


def _unbreakable(text: str, sources: Sequence[str]) -> str:
    """The translation with NUL for spaces in what is protected: a line may not end there."""
    for source in sources:
        for span in _PROTECTED.find(source):
            literal = source[span.start : span.end]
            text = text.replace(literal, literal.replace(" ", "\0"))
    return text


AnyLine = TypeVar("AnyLine", Line, Line | WrappedParagraph)


@dataclass(frozen=True)
class TextDocument(ParsedFile):
    groups: Sequence[Sequence[Line | WrappedParagraph]]
    """The lines of each document."""
    options: FileOptions
    start: str = ""
    """A byte order mark, if the file has one."""

    @property
    def documents(self) -> Sequence[Sequence[FileSegment]]:
        return [[FileSegment(text, line.number) for line in group for text in line.segments] for group in self.groups]

    def render(self, translated: Iterator[Translated]) -> Iterator[str]:
        yield self.start
        for group in self.groups:
            for line in group:
                yield line.render(translated)


class TextFormat(DocumentFormat):
    suffixes = (".txt",)
    about = "one translated line per line, layout kept"

    def parse(self, source: FileSource, options: FileOptions) -> TextDocument:
        if options.keep_lines or options.one_sentence_per_line or source.is_piped:
            return TextDocument(split_lines(source, options), options, source.bom)
        lines: list[Line | WrappedParagraph] = []
        for block in _blocks(zip(source.lines(), source.line_ends(), strict=True)):
            texts = [text for (_, text), _ in block]
            # A heading may stand right above a paragraph.
            begin = next((at for at in (0, 1) if _is_wrapped(texts[at:])), len(block))
            lines += [_with_layout(*numbered, end, options.language) for numbered, end in block[:begin]]
            if begin < len(block):
                (number, _), end = block[begin]
                lines.append(_paragraph(number, texts[begin:], end, options))
        return TextDocument(_documents(lines) if options.documents else [lines], options, source.bom)


def _blocks(lines: Iterable[EndedLine]) -> Iterator[list[EndedLine]]:
    """Lines that may be one paragraph: no blank line between them, and no mark but before the first; from the second
    on they have the same margin."""
    block: list[EndedLine] = []
    for line in lines:
        text, marks = line[0][1], _MARKS.match(line[0][1])
        assert marks is not None  # it may be empty
        begins = not block or not text.strip() or not block[-1][0][1].strip() or marks.group().strip()
        if begins or (len(block) > 1 and _margin(block[1][0][1]) != _margin(text)):
            if block:
                yield block
            block = []
        block.append(line)
    if block:
        yield block


def _margin(text: str) -> int:
    return len(text) - len(text.lstrip())


def _is_wrapped(lines: Sequence[str]) -> bool:
    """True for a paragraph that was wrapped: the first word of each line would not have fitted on the line before it,
    some sentence goes over the end of a line, and it is prose."""
    texts = [line.strip() for line in lines]
    if not 2 <= len(lines) <= _MOST_LINES or ">" in lines[0][: len(lines[0]) - len(texts[0].lstrip("> "))]:
        return False
    width = max(len(line.rstrip()) for line in lines)
    if not _NARROWEST <= width <= _WIDEST or any(_NOT_PROSE.search(one) for one in texts):
        return False
    goes_on = any(text[-1] not in '.!?:…"”“»' for text in texts[:-1])
    # Most lines of prose begin in the middle of a sentence; lines of poems, lists, logs, records and code do not.
    small = sum(text[0].islower() for text in texts[1:])
    fitted = all(len(line.rstrip()) + 1 + len(after.split()[0]) > width for line, after in pairwise(lines))
    return goes_on and 2 * small >= len(lines) - 1 and fitted


def _paragraph(number: int, lines: Sequence[str], end: str, options: FileOptions) -> WrappedParagraph:
    marks = _MARKS.match(lines[0])
    assert marks is not None
    text = " ".join([lines[0][marks.end() :].strip(), *(line.strip() for line in lines[1:])])
    other = lines[1][: _margin(lines[1])]
    width = max(len(line.rstrip()) for line in lines)
    raw = "".join(line + end for line in lines)
    segments = tuple(sentences(text, options.language))
    return WrappedParagraph(number, raw, marks.group(), other, width, segments, end)


def split_lines(source: FileSource, options: FileOptions) -> list[list[Line]]:
    """Lines split into sentences, in documents."""
    lines = []
    for (number, text), end in zip(source.lines(), source.line_ends(), strict=True):
        if options.one_sentence_per_line:
            lines.append(Line(number, _PLAIN, (normalise(text),), end))
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
        return Line(number, (text, "") if text else _PLAIN, _BLANK, end)
    columns = _COLUMNS.split(inner)
    if len(columns) > 2 and numbers_heading(columns[0], columns[2]):
        before, columns = before + columns[0] + columns[1], columns[2:]
    layout = (before, *columns[1::2], rest[len(inner) :])
    if layout == _PLAIN:
        layout = _PLAIN
    runs = [tuple(sentences(column, language)) or _BLANK for column in columns[::2]]
    if len(runs) == 1:
        return Line(number, layout, runs[0], end)
    return Line(number, layout, tuple(chain.from_iterable(runs)), end, tuple(map(len, runs)))


def _documents(lines: list[AnyLine]) -> list[list[AnyLine]]:
    """Lines between blank ones; blank lines stay at the end of the document before them."""
    groups: list[list[AnyLine]] = [[]]
    for line in lines:
        if not line.is_blank and groups[-1] and groups[-1][-1].is_blank:
            groups.append([])
        groups[-1].append(line)
    return groups
