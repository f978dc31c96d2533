"""Reading and writing text files: plain, .gz or .xz, always UTF-8, errors with file and line.

Reading streams. Writing is atomic: a temporary name beside the target, then a rename, so that a reader
never sees half a file and an interrupted write leaves nothing behind.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import shutil
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import psutil

from fenster.errors import FensterError, InputError, writing

STANDARD_INPUT = "standard input"
_REMOVALS = 20  # attempts, a tenth of a second apart
_MAGIC = {
    b"PK\x03\x04": "a ZIP archive (such as .docx, .odt or .epub)",
    b"%PDF-": "a PDF document",
    b"\x1f\x8b": "a gzip file without .gz in its name",
    b"\xfd7zXZ": "an xz file without .xz in its name",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"{\\rtf": "an RTF document",
}
_DECODE_ERRORS = (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error)


def compression(path: Path) -> str:
    """`.xz`, `.gz` or an empty string."""
    suffix = path.suffix.lower()
    return suffix if suffix in (".xz", ".gz") else ""


def bare_suffix(path: Path) -> str:
    """The suffix that tells the format, compression aside: `a.tsv.xz` -> `.tsv`."""
    return (path.with_suffix("") if compression(path) else path).suffix.lower()


class TextFiles:
    """Opens text files for the readers and reports how far they are.

    `on_bytes` is called with the number of (compressed) bytes consumed since the last call.
    """

    def __init__(self, on_bytes: Callable[[int], None] | None = None) -> None:
        self._on_bytes = on_bytes

    def lines(self, path: Path) -> Iterator[tuple[int, str]]:
        """(line number from 1, line without its end) of every line; a BOM at the start is removed."""
        return decoded_lines(self.raw_lines(path), path)

    def raw_lines(self, path: Path) -> Iterator[bytes]:
        """Raw lines of a file, decompressed."""
        with _readable(path), path.open("rb") as raw, _decompressed(raw, path) as stream:
            # A pipe has no position, and needs no meter.
            on_bytes, seen = self._on_bytes if raw.seekable() else None, 0
            for count, line in enumerate(stream):
                if on_bytes is not None and count % 1024 == 0:
                    on_bytes(raw.tell() - seen)
                    seen = raw.tell()
                yield line
            if on_bytes is not None:
                on_bytes(raw.tell() - seen)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Operating-system errors and damaged containers become errors that name the file."""
    try:
        yield
    except FileNotFoundError:
        raise InputError("no such file", path=path, fix="check the path and the current folder") from None
    except IsADirectoryError:
        raise InputError("is a folder", path=path, expected="a file") from None
    except PermissionError:
        raise InputError("permission denied", path=path, fix="check its permissions") from None
    except _DECODE_ERRORS as error:
        kind = compression(path)
        raise InputError(
            f"damaged or truncated {kind} file ({error})",
            path=path,
            expected=f"a whole {kind} file",
            fix=f"copy it again; test it with {'xz' if kind == '.xz' else 'gzip'} -t {path.name}",
        ) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path, fix="check the path") from None


@dataclass(frozen=True)
class FileSource:
    """What a file holds, decompressed; `path` is its name."""

    data: bytes
    path: Path
    encoding: str = ""
    """What the data is in, whatever it says itself; empty if nothing is known."""
    is_piped: bool = False
    """True for standard input."""

    @classmethod
    def read(cls, path: Path | None) -> FileSource:
        """A file, or standard input, which is read to its end."""
        if path is not None:
            return cls(b"".join(TextFiles().raw_lines(path)), path)
        if sys.stdin is None:
            raise InputError("there is no standard input", fix="name a file")
        return cls(sys.stdin.buffer.read(), Path(STANDARD_INPUT), is_piped=True)

    def lines(self) -> Iterator[tuple[int, str]]:
        """(line number from 1, line without its end) of every line; a BOM at the start is removed."""
        return decoded_lines(io.BytesIO(self.data), self.path)

    @property
    def bom(self) -> str:
        """The byte order mark that the file begins with, or nothing."""
        return "\ufeff" if self.data.startswith("\ufeff".encode()) else ""

    def line_ends(self) -> list[str]:
        """How each line ends; the last one ends like the one before it if it has no end, or in a line feed."""
        ends = ["\r\n" if line.endswith(b"\r\n") else "\n" for line in io.BytesIO(self.data)]
        return ends[:-1] + ends[-2:-1] if len(ends) > 1 and not self.data.endswith(b"\n") else ends


def decoded_lines(raw_lines: Iterable[bytes], path: Path) -> Iterator[tuple[int, str]]:
    """(line number from 1, line without its end) of raw lines of UTF-8; a BOM at the start is removed."""
    for number, raw in enumerate(raw_lines, start=1):
        if number == 1:
            _check_is_text(raw, path)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"invalid UTF-8: byte 0x{raw[error.start]:02x} at byte {error.start + 1} of the line",
                path=path,
                line=number,
                expected="text in UTF-8",
                fix=f"convert it first, e.g. iconv -f latin1 -t utf-8 {path.name}",
            ) from None
        if number == 1 and text.startswith("\ufeff"):
            text = text[1:]
        text = text.rstrip("\r\n")
        if "\r" in text:
            raise InputError(
                "a carriage return inside the line",
                path=path,
                line=number,
                expected="lines that end in LF or CRLF",
                fix=f"if they end in CR alone, convert them: tr '\\r' '\\n' < {path.name}",
            )
        yield number, text


def _check_is_text(start: bytes, path: Path) -> None:
    """Refuse what is not UTF-8 text by what it is, where that can be seen from its first line."""
    utf16 = start.startswith((b"\xff\xfe", b"\xfe\xff")) or start[:64].count(0) > len(start[:64]) // 3
    if utf16:
        fix = f"convert it first: iconv -f utf-16 -t utf-8 {path.name}"
        raise InputError("looks like UTF-16", path=path, expected="text in UTF-8", fix=fix)
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            way = "export it as another kind of document first, such as .docx" if "PDF" in kind else None
            raise InputError(f"is {kind}, not text", path=path, expected="text in UTF-8", fix=way)


@contextmanager
def _decompressed(raw: IO[bytes], path: Path) -> Iterator[io.BufferedReader]:
    if compression(path) == ".xz":
        with lzma.LZMAFile(raw) as xz:
            yield io.BufferedReader(cast(io.RawIOBase, xz), 1 << 18)
    elif compression(path) == ".gz":
        with gzip.GzipFile(fileobj=raw) as gz:
            yield io.BufferedReader(cast(io.RawIOBase, gz), 1 << 18)
    else:
        yield cast(io.BufferedReader, raw)


def compressing(stream: IO[bytes], path: Path) -> AbstractContextManager[IO[bytes]]:
    """What to write into, so that reading `path` gives the same; nothing else is in it, such as times."""
    if compression(path) == ".xz":
        return cast(IO[bytes], lzma.LZMAFile(stream, "wb"))
    if compression(path) == ".gz":
        return cast(IO[bytes], gzip.GzipFile("", "wb", fileobj=stream, mtime=0))
    return nullcontext(stream)


def check_not_input(output: Path | None, inputs: Iterable[Path | None]) -> None:
    """Refuse to overwrite a file that is being read."""
    for path in inputs:
        if output is not None and path is not None and output.exists() and path.exists() and output.samefile(path):
            raise FensterError("would overwrite an input file", path=output, fix="choose another output")


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that becomes `path` when the block succeeds, and is removed otherwise.

    A link is followed; what is not a file (a pipe, a device) is written to directly.
    """
    with writing(path):
        if not path.name:
            raise FensterError("not a file name", path=path or ".", expected="the name of a file to write")
        if path.is_dir():
            raise FensterError("is a folder", path=path, expected="the name of a file to write")
        if path.exists() and (not path.is_file() or path.absolute().is_relative_to("/dev")):
            yield path
            return
        path = path.resolve()
        temporary = path.with_name(f".{path.name}.partial-{os.getpid()}")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_text(path: Path) -> Iterator[IO[str]]:
    """Write text to `path` atomically, compressed if its suffix says so."""
    with atomic_path(path) as temporary:
        opened: IO[str]
        if compression(path) == ".xz":
            opened = lzma.open(temporary, "wt", encoding="utf-8", newline="\n")
        elif compression(path) == ".gz":
            opened = gzip.open(temporary, "wt", encoding="utf-8", newline="\n")
        else:
            opened = temporary.open("w", encoding="utf-8", newline="\n")
        with opened as stream:
            yield stream


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that becomes `folder` when the block succeeds, and is removed otherwise.

    An existing folder is replaced at the end. What a killed process left behind is removed first.
    """
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        for stale in (*folder.parent.glob(f".{folder.name}.old-*"), *folder.parent.glob(f".{folder.name}.partial-*")):
            pid = stale.name.rsplit("-", 1)[1]
            if not (stale.is_dir() and pid.isdigit()) or (int(pid) != os.getpid() and psutil.pid_exists(int(pid))):
                continue  # not ours to remove; in a container the killed process may well have had our process id
            if ".old-" in stale.name and not folder.exists():
                stale.rename(folder)  # killed between the two renames below
            else:
                shutil.rmtree(stale)
        temporary = folder.with_name(f".{folder.name}.partial-{os.getpid()}")
        try:
            temporary.mkdir()
            yield temporary
            if folder.exists():
                old = folder.with_name(f".{folder.name}.old-{os.getpid()}")
                folder.rename(old)
                temporary.rename(folder)
                shutil.rmtree(old)
            else:
                temporary.rename(folder)
        finally:
            _remove(temporary)


def _remove(folder: Path) -> None:
    """Remove a folder in which an interrupted worker may still be writing its last file."""
    for _ in range(_REMOVALS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)
