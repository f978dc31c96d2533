"""Document files: what `fenster translate` reads and writes. A new format is one new file and one line in
DOCUMENT_FORMATS."""

from __future__ import annotations

from pathlib import Path

from fenster.decode.files.base import DocumentFormat, FileOptions, FileSegment, ParsedFile
from fenster.decode.files.unsupported import UNSUPPORTED
from fenster.errors import InputError
from fenster.io.files import bare_suffix
from fenster.registry import Deferred, Registry

DOCUMENT_FORMATS: Registry[type[DocumentFormat]] = Registry(
    "document format",
    {
        "text": Deferred("fenster.decode.files.text:TextFormat"),
        "jsonl": Deferred("fenster.decode.files.jsonl:JsonlFormat"),
        "markdown": Deferred("fenster.decode.files.markdown:MarkdownFormat"),
        "subtitles": Deferred("fenster.decode.files.subtitles:SubtitleFormat"),
        "html": Deferred("fenster.decode.files.html:HtmlFormat"),
        "docx": Deferred("fenster.decode.files.docx:WordFormat"),
        "odf": Deferred("fenster.decode.files.odf:OpenDocumentFormat"),
        "pptx": Deferred("fenster.decode.files.pptx:PresentationFormat"),
        "epub": Deferred("fenster.decode.files.epub:BookFormat"),
        "po": Deferred("fenster.decode.files.po:GettextFormat"),
        "xliff": Deferred("fenster.decode.files.xliff:XliffFormat"),
        "json": Deferred("fenster.decode.files.catalogue:JsonFormat"),
        "yaml": Deferred("fenster.decode.files.catalogue:YamlFormat"),
        "csv": Deferred("fenster.decode.files.csv:CsvFormat"),
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
