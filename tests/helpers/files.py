"""Document files with translations that a function makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fenster.decode.files import FileOptions, FileSegment, ParsedFile, document_format
from fenster.decode.result import Translated
from fenster.io.files import FileSource


def parse(text: str, name: str) -> ParsedFile:
    """What a file of that name and text is parsed into."""
    return document_format(None, Path(name)).parse(FileSource(text.encode(), Path(name)), FileOptions())


def render(parsed: ParsedFile, translate: Callable[[str], str]) -> str:
    translated = iter([Translated(one.text, translate(one.text)) for one in parsed.segments])
    data = b"".join(one.encode() if isinstance(one, str) else one for one in parsed.render(translated))
    assert next(translated, None) is None, "every segment was used"
    return data.decode()


def louder(segment: FileSegment) -> str:
    """Every word in capitals, every mark where it was."""
    made, at = "", 0
    for mark in segment.marks:
        made += segment.text[at : mark.start].upper() + segment.text[mark.start : mark.end]
        at = mark.end
    return made + segment.text[at:].upper()
