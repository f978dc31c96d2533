"""Document files: what `fenster translate` reads and writes. A new format is one new file and one line in
DOCUMENT_FORMATS."""

from __future__ import annotations

from pathlib import Path

from fenster.decode.files.base import DocumentFormat, FileOptions, FileSegment, ParsedFile
from fenster.decode.files.catalogue import JsonFormat, YamlFormat
from fenster.decode.files.csv import CsvFormat
from fenster.decode.files.docx import WordFormat
from fenster.decode.files.epub import BookFormat
from fenster.decode.files.html import HtmlFormat
from fenster.decode.files.jsonl import JsonlFormat
from fenster.decode.files.markdown import MarkdownFormat
from fenster.decode.files.odf import OpenDocumentFormat
from fenster.decode.files.po import GettextFormat
from fenster.decode.files.pptx import PresentationFormat
from fenster.decode.files.subtitles import SubtitleFormat
from fenster.decode.files.text import TextFormat
from fenster.decode.files.unsupported import UNSUPPORTED
from fenster.decode.files.xliff import XliffFormat
from fenster.errors import InputError
from fenster.io.files import bare_suffix
from fenster.registry import Registry

DOCUMENT_FORMATS: Registry[type[DocumentFormat]] = Registry(
    "document format",
    {
        "text": TextFormat,
        "jsonl": JsonlFormat,
        "markdown": MarkdownFormat,
        "subtitles": SubtitleFormat,
        "html": HtmlFormat,
        "docx": WordFormat,
        "odf": OpenDocumentFormat,
        "pptx": PresentationFormat,
        "epub": BookFormat,
        "po": GettextFormat,
        "xliff": XliffFormat,
        "json": JsonFormat,
        "yaml": YamlFormat,
        "csv": CsvFormat,
    },
)


def document_format(name: str | None, path: Path | None = None) -> DocumentFormat:
    """The format called `name`; without one, the one with the file's suffix, or plain text. An error for files that
    are known to be something else."""
    if name is None and path is not None:
        suffix = bare_suffix(path)
        name = next((key for key, kind in DOCUMENT_FORMATS.items() if suffix in kind.suffixes), None)
        if name is None and suffix in UNSUPPORTED:
            known = ", ".join(suffix for kind in DOCUMENT_FORMATS.values() for suffix in kind.suffixes)
            raise InputError(f"{suffix} files are not supported", path=path, expected=known, fix=UNSUPPORTED[suffix])
    return DOCUMENT_FORMATS[name or "text"]()


__all__ = ["DOCUMENT_FORMATS", "DocumentFormat", "FileOptions", "FileSegment", "ParsedFile", "document_format"]
