"""Where the translation of a file is written."""

from __future__ import annotations

from pathlib import Path

from fenster.decode.files import DOCUMENT_FORMATS
from fenster.decode.files.base import DocumentFormat
from fenster.errors import ConfigError, FensterError
from fenster.io.files import bare_suffix, compression


def check_output(kind: DocumentFormat, file: Path | None, output: Path | None) -> None:
    """Refuse to write a Word document into something that is called .pdf, or text into a .docx or .jsonl."""
    if kind.is_binary and file is not None and output is not None and bare_suffix(output) != bare_suffix(file):
        raise ConfigError(
            f"{output} must be the same kind of file as {file.name}",
            expected=f"a name that ends in {bare_suffix(file)}",
        )
    suffix = None if output is None else bare_suffix(output)
    named = next((one for one in DOCUMENT_FORMATS.values() if suffix in one.suffixes), None)
    if named is None or isinstance(kind, named) or suffix in kind.suffixes:
        return
    if named.is_binary or named.holds_nbest:  # JSON lines
        raise ConfigError(
            f"{output} would contain {kind.suffixes[0]} text, which does not match its suffix",
            expected=f"a name that ends in {kind.suffixes[0]}",
        )


def beside(file: Path, language: str) -> Path:
    """The name of a translation: film.srt -> film.de.srt. An error if it exists, since a person may have made it."""
    bare = file.with_suffix("") if compression(file) else file
    path = file.with_name(f"{bare.stem}.{language}{bare.suffix}{compression(file)}")
    if path.exists():
        raise FensterError("exists already", path=path, fix=f"give -o {path} to replace it, or another name")
    return path
