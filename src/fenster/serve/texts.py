"""A request's text or file as one document, and its translation in the same form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fenster.decode.files import document_format
from fenster.decode.files.base import FileOptions, ParsedFile
from fenster.decode.result import Translated
from fenster.document import Document, Segment
from fenster.io.files import FileSource


@dataclass(frozen=True)
class RequestText:
    """Several texts that are one document: each is translated in the context of those before it."""

    parsed: Sequence[ParsedFile]
    ends: Sequence[bytes] = ()
    """What the writer of plain text adds to those that do not end in a line break."""

    @classmethod
    def of(cls, texts: Sequence[str], kind: str, options: FileOptions) -> RequestText:
        """`kind` is text or html."""
        form = document_format(kind)
        name = Path("request.html" if kind == "html" else "request.txt")
        ends = [b"" if text.endswith(("\n", "\r")) else b"\n" for text in texts]
        return cls([form.parse(FileSource(text.encode(), name), options) for text in texts], ends)

    @classmethod
    def of_file(cls, data: bytes, name: str, options: FileOptions) -> RequestText:
        """An uploaded file; of its name only the ending counts."""
        path = Path("upload").with_suffix(Path(name).suffix.lower())
        return cls([document_format(None, path).parse(FileSource(data, path), options)])

    def document(self, register: str = "") -> Document:
        segments = (segment for file in self.parsed for segment in file.segments)
        return Document(
            "", tuple(Segment(one.text, register=one.register or register, marks=one.marks) for one in segments)
        )

    def rendered(self, translated: Sequence[Translated]) -> list[bytes]:
        """Each text again, from the segments of all."""
        waiting: Iterator[Translated] = iter(translated)
        made = [
            b"".join(piece.encode() if isinstance(piece, str) else piece for piece in file.render(waiting))
            for file in self.parsed
        ]
        return [one.removesuffix(end) for one, end in zip(made, self.ends or [b""] * len(made), strict=True)]
