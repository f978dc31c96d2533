"""What a web page is encoded in: it may say so itself, and browsers read what it says in their own way."""

from __future__ import annotations

import re

from fenster.errors import InputError
from fenster.io.files import FileSource

_CHARSET = re.compile(
    rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w-]+)|<\?xml[^>]+encoding\s*=\s*[\"']([\w-]+)", re.IGNORECASE
)
_LATIN = {"iso-8859-1", "iso8859-1", "latin1", "latin-1", "ascii", "us-ascii"}
_WINDOWS = re.compile(rb"[\x80\x82-\x8c\x8e\x91-\x9c\x9e\x9f]")  # €, quotation marks, dashes; otherwise controls
_ENCODINGS = re.compile(
    r"utf-?8|ascii|us-ascii|iso-?8859-?\d+|latin-?1|windows-?\d+|cp\d+|koi8-[ru]|shift_jis|euc-\w+|gb\w+|big5"
)


def decoded(source: FileSource) -> tuple[str, str]:
    """(text, encoding) of a web page, which may name its encoding."""
    if b"\0" in source.data[:1024]:
        list(source.lines())  # says what it is
    named = None if source.bom or source.encoding else _CHARSET.search(source.data[:2048])
    encoding = (source.encoding or "utf-8") if named is None else (named[1] or named[2]).decode("ascii")
    if encoding.lower().startswith(("utf-16", "utf16")):
        encoding = "utf-8"  # what could be read so far is not UTF-16, and the standard says so
    if encoding.lower().replace("_", "-") in _LATIN and _WINDOWS.search(source.data):
        encoding = "windows-1252"  # as browsers have it
    try:
        if not _ENCODINGS.fullmatch(encoding.lower()):
            raise LookupError("unknown encoding")
        return source.data.decode(encoding).removeprefix("\ufeff"), encoding
    except (UnicodeError, LookupError) as error:
        raise InputError(
            f"is not text in {encoding} ({error})",
            path=source.path,
            expected="a page in UTF-8, or in the encoding that it names",
            fix="correct the charset that it names, or convert it",
        ) from None
