"""Markdown (CommonMark, tables and strikethrough): the words of paragraphs, headings, lists and tables are
translated, and links, emphasis and images move with them. Code, front matter, HTML blocks, targets of links and all
else stay as they are, byte for byte.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt

from fenster.decode.files.base import DocumentFormat, FileOptions, FileSegment, ParsedFile
from fenster.decode.files.inline import split_sentences
from fenster.decode.files.line_index import LineIndex
from fenster.decode.files.markdown_dialects import as_commonmark
from fenster.decode.files.markdown_inline import MarkdownError, Unit, units
from fenster.decode.result import Translated
from fenster.errors import counted
from fenster.io.files import FileSource

_FRONT_MATTER = re.compile(r"(?:---[ \t]*\n.*?\n(?:---|\.\.\.)|\+\+\+[ \t]*\n.*?\n\+\+\+)[ \t]*(?:\n|$)", re.DOTALL)
_BEGINS = re.compile(r"[-+*](?:\s|$)|#{1,6}(?:\s|$)|>|(?:[-=*_][ \t]*){3,}$|`{3,}[^`]*$|~{3}|:(?:\s|::)")
_DEEPEST = 200  # blocks inside blocks that are read
_BLOCK = re.compile(
    r"\s*(?:[-+*]\s|#{1,6}\s|>|\d+[.)]\s|[=~`|-]{3})"
)  # what would begin a block at the start of a line


@dataclass(frozen=True)
class Range:
    """Characters of the file that are replaced, and what lines after the first begin with."""

    start: int
    end: int
    prefix: str
    width: int
    """Of the lines to wrap to; 0 for a single line."""
    in_table: bool
    in_heading: bool
    segments: tuple[FileSegment, ...]


@dataclass(frozen=True)
class MarkdownDocument(ParsedFile):
    text: str
    ranges: tuple[Range, ...]
    line_end: str
    start: str
    """A byte order mark, if the file has one."""
    skipped: int
    """Paragraphs and tables that are left as they are, because their markup could not be followed."""

    @property
    def documents(self) -> Sequence[Sequence[FileSegment]]:
        return [[segment for one in self.ranges for segment in one.segments]]

    def render(self, translated: Iterator[Translated]) -> Iterator[str]:
        at = 0
        yield self.start
        for one in self.ranges:
            yield self.text[at : one.start].replace("\n", self.line_end)
            words = " ".join(next(translated).text for _ in one.segments)
            if words == " ".join(segment.text for segment in one.segments):
                yield self.text[one.start : one.end].replace("\n", self.line_end)
            else:
                if one.in_table:
                    words = re.sub(r"(?<!\\)\|", r"\\|", words)
                elif not one.in_heading:
                    words = _no_block(words)
                lines = _wrapped(words, one) if one.width else [words]
                yield f"{self.line_end}{one.prefix}".join(lines)
            at = one.end
        yield self.text[at:].replace("\n", self.line_end)

    def remarks(self) -> list[str]:
        if not self.skipped:
            return []
        return [f"{counted(self.skipped, 'paragraph')} left unchanged, with markup that could not be followed"]


class MarkdownFormat(DocumentFormat):
    suffixes = (".md", ".markdown")
    about = "Markdown: only the words change, and inline markup moves with them"
    writes_file = True

    def parse(self, source: FileSource, options: FileOptions) -> MarkdownDocument:
        text = "\n".join(line for _, line in source.lines()) + ("\n" if source.data.endswith(b"\n") else "")
        ends = source.line_ends()
        front = _FRONT_MATTER.match(text)
        body = text if front is None else re.sub(r"[^\n]", " ", front.group()) + text[front.end() :]
        body, skipped = as_commonmark(body)
        ranges: list[Range] = []
        file = _Lines(body)
        in_table = in_heading = False
        for token in (
            MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable(["table", "strikethrough"]).parse(body)
        ):
            if token.type.endswith("_open"):
                in_table = token.type in ("td_open", "th_open")
                in_heading = token.type == "heading_open" and token.markup.startswith("#")
            if token.type != "inline" or token.map is None:
                continue
            content = token.content
            lines = file.find(content, token.map[0])
            if lines is None and in_table:
                content = content.replace("|", r"\|")
                lines = file.find(content, token.map[0])
            try:
                parsed = units(content, token.children or []) if lines else None
            except MarkdownError:
                parsed = None
            if parsed is None or lines is None:
                skipped += 1
                continue
            where = (in_table, in_heading)
            index = LineIndex(content)
            ranges += [_range(unit, content, index, lines, file, options.language, where) for unit in parsed]
        return MarkdownDocument(text, tuple(ranges), ends[0] if ends else "\n", source.bom, skipped)


class _Lines:
    """Where the lines of paragraphs are in the file; cells of a table follow each other on one line."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self._used: dict[int, int] = {}

    def find(self, content: str, first: int) -> list[tuple[int, int]] | None:
        """(line, column) of each line of a paragraph that begins in line `first`; None if it is not there."""
        positions = []
        for number, part in enumerate(content.split("\n"), start=first):
            column = self.lines[number].find(part, self._used.get(number, 0)) if number < len(self.lines) else -1
            if column < 0:
                return None
            positions.append((number, column))
        for (number, column), part in zip(positions, content.split("\n"), strict=True):
            self._used[number] = column + len(part)
        return positions


def _range(
    unit: Unit,
    content: str,
    index: LineIndex,
    lines: list[tuple[int, int]],
    file: _Lines,
    language: str,
    where: tuple[bool, bool],
) -> Range:
    first, last = index.line(unit.start) - 1, index.line(unit.end) - 1

    def position(at: int, line: int) -> int:
        number, column = lines[line]
        return file.starts[number] + column + at - index.starts[line]

    number, column = lines[min(first + 1, len(lines) - 1)]
    prefix = file.lines[number][:column] if last > first else ""
    ends = [start - 1 for start in index.starts[first + 1 : last + 2]]
    ends += [len(content)] if len(ends) <= last - first else []
    width = max(end - start for start, end in zip(index.starts[first:], ends, strict=False)) if last > first else 0
    segments = split_sentences(unit.text.rstrip(" "), unit.marks, lines[first][0] + 1, language)
    return Range(position(unit.start, first), position(unit.end, last), prefix, width, *where, segments)


def _no_block(text: str) -> str:
    """Text that does not begin a block, escaped if need be."""
    number = re.match(r"\d+(?=[.)]\s)", text)
    if number is not None:
        return f"{number.group()}\\{text[number.end() :]}"
    return f"\\{text}" if _BEGINS.match(text) else text


def _wrapped(text: str, paragraph: Range) -> list[str]:
    """Lines of about the width of the source's. None of them may look like the beginning of a block, and no mark
    (the target of a link with its title) goes over two."""
    for segment in paragraph.segments:
        for mark in segment.marks:
            literal = segment.text[mark.start : mark.end]
            text = text.replace(literal, literal.replace(" ", "\0"))
    lines: list[str] = []
    width = max(paragraph.width, 40)
    for line in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]:
        if lines and _BLOCK.match(line):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return [line.replace("\0", " ") for line in lines]
