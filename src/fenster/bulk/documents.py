"""Rows as documents: the part of a record that is translated, and the columns that its translation adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fenster.bulk.shards.base import REGISTER, SEGMENTS, TRANSLATION, WARNINGS
from fenster.data.text import LONE_RETURN, check_texts
from fenster.decode.files.base import FileOptions, ParsedFile
from fenster.decode.files.text import TextFormat
from fenster.decode.result import Translated
from fenster.document import Document, Segment
from fenster.errors import InputError
from fenster.io.files import FileSource
from fenster.language import checked_register


@dataclass(frozen=True)
class RowDocument:
    """A document of a shard: the sentences of a text, or a list of sentences."""

    document: Document
    text: tuple[str, ParsedFile] | None
    """A text, and what it needs to be written again; None for a list."""

    @classmethod
    def of(cls, record: Mapping[str, Any], column: str, options: FileOptions) -> RowDocument:
        """An InputError if the record has no document."""
        register = checked_register(record.get(REGISTER))
        texts, text = record.get(SEGMENTS), record.get(column)
        if texts is not None:
            if not isinstance(texts, list):
                raise InputError(f"`{SEGMENTS}` is not a list of texts")
            segments = tuple(Segment(one, register=register) for one in check_texts(texts))
            return cls(Document("", segments), None)
        if not isinstance(text, str):
            raise InputError(f"has no text under `{column}`, and no list under `{SEGMENTS}`")
        check_texts([text])
        text = LONE_RETURN.sub("\n", text)
        parsed = TextFormat().parse(FileSource(text.encode(), Path(column)), options)
        whole = tuple(segment for part in parsed.as_documents(register) for segment in part.segments)
        return cls(Document("", whole), (text, parsed))

    def added(self, translated: Sequence[Translated]) -> dict[str, Any]:
        """What the row gets: its translation, and the names of all problems."""
        warnings = sorted({name for one in translated for name in one.warnings})
        if self.text is None:
            return {TRANSLATION: [one.text for one in translated], WARNINGS: warnings}
        text, parsed = self.text
        translation = parsed.rendered(iter(translated)).decode()
        if not text.endswith("\n"):
            translation = translation.removesuffix("\n").removesuffix("\r")
        return {TRANSLATION: translation, WARNINGS: warnings}
