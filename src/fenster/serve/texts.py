"""A request's texts as one document, and their translations in the same form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fenster.data.text import LONE_RETURN
from fenster.decode.files import document_format
from fenster.decode.files.base import FileOptions, ParsedFile
from fenster.decode.result import Translated
from fenster.document import Document
from fenster.io.files import FileSource


@dataclass(frozen=True)
class RequestText:
    """Several texts that are one document: each is translated in the context of those before it."""

    parsed: Sequence[ParsedFile]
    ends: Sequence[bytes]
    """What the writer of plain text adds to those that do not end in a line break."""

    @classmethod
    def of(cls, texts: Sequence[str], kind: str, options: FileOptions) -> RequestText:
        """`kind` is text or html."""
        form = document_format(kind)
        name = Path("request.html" if kind == "html" else "request.txt")
        if kind == "text":
            texts = [LONE_RETURN.sub("\n", text) for text in texts]
        sources = [FileSource(text.encode(), name, "utf-8") for text in texts]
        ends = [(source.line_ends() or ["\n"])[-1].encode() for source in sources]
        missing = [b"" if text.endswith("\n") else end for text, end in zip(texts, ends, strict=True)]
        return cls([form.parse(source, options) for source in sources], missing)

    def document(self, register: str = "") -> Document:
        parts = (document for file in self.parsed for document in file.as_documents(register))
        return Document("", tuple(segment for document in parts for segment in document.segments))

    def rendered(self, translated: Sequence[Translated]) -> list[str]:
        """Each text again, from the segments of all."""
        waiting = iter(translated)
        made = [file.rendered(waiting) for file in self.parsed]
        return [one.removesuffix(end).decode() for one, end in zip(made, self.ends, strict=True)]
