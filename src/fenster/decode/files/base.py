"""The contract of a document file: parse it into segments, render it from their translations.

A file is one or several documents. `render` takes the translated segments one by one, as they are ready, and yields
pieces of output as soon as they are complete.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from fenster.decode.result import Translated
from fenster.document import Document, Mark, Segment
from fenster.io.files import FileSource


@dataclass(frozen=True)
class FileOptions:
    """How a file is read and written."""

    one_sentence_per_line: bool = False
    """Do not split lines into sentences."""
    language: str = "en"
    """Of the source, for splitting into sentences."""
    target: str = "de"
    """The language of the translation, for where its lines may end."""
    keep_lines: bool = False
    """Do not join the lines of paragraphs that are wrapped at some width."""
    documents: bool = False
    """Blank lines separate documents. Otherwise the file is one document."""
    columns: tuple[str, ...] = ()
    """Of a table, those to translate."""
    nbest: int = 1
    """Hypotheses to write, if the format holds several."""


class FileSegment(NamedTuple):
    """A segment of a file, the line it starts at, for messages, the register that it asks for, if any, and its inline
    markup."""

    text: str
    line: int
    register: str = ""
    marks: tuple[Mark, ...] = ()

    @property
    def words(self) -> str:
        """The text without its marks."""
        pieces, at = [], 0
        for mark in self.marks:
            pieces.append(self.text[at : mark.start])
            at = mark.end
        return "".join([*pieces, self.text[at:]])


_BLANK = Segment("")  # one object for all blank lines, since there are many


def _segment(one: FileSegment, register: str) -> Segment:
    if not one.text:
        return _BLANK
    return Segment(one.text, register=one.register or register, marks=one.marks)


class ParsedFile(ABC):
    """A file as documents of segments, with all that is needed to write it again in another language."""

    @property
    @abstractmethod
    def documents(self) -> Sequence[Sequence[FileSegment]]: ...

    @abstractmethod
    def render(self, translated: Iterator[Translated]) -> Iterator[str | bytes]:
        """The output in pieces. `translated` has the segments of all documents in order."""

    def remarks(self) -> list[str]:
        """After rendering: what a reader of the output should know."""
        return []

    def as_documents(self, register: str = "") -> list[Document]:
        """What is translated; `register` is that of segments that have none of their own."""
        return [Document("", tuple(_segment(one, register) for one in part)) for part in self.documents]

    def encoded(self, translated: Iterator[Translated]) -> Iterator[bytes]:
        """The output in pieces, as bytes."""
        return (piece.encode() if isinstance(piece, str) else piece for piece in self.render(translated))

    def rendered(self, translated: Iterator[Translated]) -> bytes:
        """The whole output."""
        return b"".join(self.encoded(translated))

    @property
    def segments(self) -> list[FileSegment]:
        return [segment for document in self.documents for segment in document]


class DocumentFormat(ABC):
    """A kind of file."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    """Names that it is recognised by, compression aside: `.txt`."""
    about: ClassVar[str] = ""
    writes_file: ClassVar[bool] = False
    """True if the output is a file beside the input unless another is named; otherwise it is standard output."""
    is_binary: ClassVar[bool] = False
    """True if its output is no text, and so is not for a terminal."""
    holds_nbest: ClassVar[bool] = False
    """True if its output can hold several hypotheses."""

    @abstractmethod
    def parse(self, source: FileSource, options: FileOptions) -> ParsedFile:
        """An error names the file and the line."""
