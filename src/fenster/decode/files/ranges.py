"""Text files of which some ranges are translated, and the rest stays as it is, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from fenster.decode.files.base import FileSegment, ParsedFile
from fenster.decode.files.icu import icu_parts
from fenster.decode.files.inline import Part, Unit
from fenster.decode.result import Translated
from fenster.io.files import FileSource


@dataclass(frozen=True)
class TextRange:
    """`text[start:end]` stands for some text, line by line; `written` spells another text in its place."""

    start: int
    end: int
    lines: tuple[tuple[str, Unit | None], ...]
    """What is between line breaks, columns and keywords of ICU, and these themselves, each with its unit if it has
    words."""
    written: Callable[[str], str]
    elsewhere: bool = False
    """The text stands in another place, so that a translation that equals it must be written, too."""

    @classmethod
    def of(
        cls,
        start: int,
        end: int,
        value: str,
        line: int,
        language: str,
        written: Callable[[str], str],
        elsewhere: bool = False,
        arguments: re.Pattern[str] | None = None,
    ) -> TextRange | None:
        """None if there is nothing to write for `value`, or if it holds half a character. `arguments` are what a
        program fills in, beside what is protected in any text."""
        if any("\ud800" <= character <= "\udfff" for character in value):
            return None
        lines = tuple(
            (one, Unit.of(_parts(one, arguments), line, language) if is_text else None)
            for part, is_text in icu_parts(value)
            for one in re.split(r"([\n\t]| {3,})", part)
        )
        needed = any(unit for _, unit in lines) or (elsewhere and value.strip())
        return cls(start, end, lines, written, elsewhere) if needed else None

    @property
    def segments(self) -> list[FileSegment]:
        return [segment for _, unit in self.lines if unit is not None for segment in unit.segments]

    def translated(self, translations: Iterator[Translated]) -> str | None:
        """The new spelling; None if nothing changed."""
        made, changed = "", self.elsewhere
        for text, unit in self.lines:
            parts = None if unit is None else unit.translated(translations)
            made += text if parts is None else "".join(part.value or part.words for part in parts)
            changed = changed or parts is not None
        return self.written(made) if changed else None


def _parts(text: str, arguments: re.Pattern[str] | None) -> list[Part]:
    if arguments is None:
        return [Part("words", text)]
    pieces = re.split(f"({arguments.pattern})", text)
    return [
        Part("single", value=piece) if number % 2 else Part("words", piece)
        for number, piece in enumerate(pieces)
        if piece
    ]


@dataclass(frozen=True)
class RangesDocument(ParsedFile):
    text: str
    ranges: tuple[TextRange, ...]
    start: str = ""
    """A byte order mark, if the file has one."""
    further: tuple[tuple[int, int, str], ...] = ()
    """What else changes if anything does, such as the name of the language: from, to, new text."""
    said: Sequence[str] = field(default_factory=tuple)
    """What a reader of the output should know."""

    @property
    def documents(self) -> Sequence[Sequence[FileSegment]]:
        return [[segment for one in self.ranges for segment in one.segments]]

    def render(self, translated: Iterator[Translated]) -> Iterator[str | bytes]:
        changes = []
        for one in self.ranges:
            written = one.translated(translated)
            if written is not None:
                changes.append((one.start, one.end, written))
        at = 0
        yield self.start
        for start, end, written in sorted([*changes, *self.further]) if changes else ():
            yield self.text[at:start] + written
            at = end
        yield self.text[at:]

    def remarks(self) -> list[str]:
        return list(self.said)


def whole_text(source: FileSource) -> str:
    """The text of a file with its line ends, without a byte order mark; an error says what is wrong with it."""
    for _ in source.lines():
        pass
    return source.data.decode("utf-8").removeprefix("\ufeff")
