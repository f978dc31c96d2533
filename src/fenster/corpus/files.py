"""Opening and writing corpus files: plain, .gz or .xz, always UTF-8, errors with file and line.

Reading streams. Writing is atomic: a temporary name beside the target, then a rename, so that a reader
never sees half a file and an interrupted write leaves nothing behind.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from fenster.errors import InputError, writing

_DECODE_ERRORS = (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error)


def bare_suffix(path: Path) -> str:
    """The suffix that tells the format, compression aside: `a.tsv.xz` -> `.tsv`."""
    return (path.with_suffix("") if path.suffix in (".xz", ".gz") else path).suffix.lower()


class TextFiles:
    """Opens text files for the readers and tells a progress meter how far they are.

    `on_bytes` is called with the number of (compressed) bytes consumed since the last call.
    """

    def __init__(self, on_bytes: Callable[[int], None] | None = None) -> None:
        self._on_bytes = on_bytes

    def lines(self, path: Path) -> Iterator[tuple[int, str]]:
        """(line number from 1, line without its end) of every line; a BOM at the start is taken off."""
        number = 0
        for raw in self._stream(path):
            number += 1
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
            yield number, text.rstrip("\r\n")

    def _stream(self, path: Path) -> Iterator[bytes]:
        """Raw lines of a file, decompressed; faults of the container become errors naming the file."""
        try:
            with path.open("rb") as raw, _decompressed(raw, path) as stream:
                seen = 0
                for count, line in enumerate(stream):
                    if self._on_bytes is not None and count % 1024 == 0:
                        self._on_bytes(raw.tell() - seen)
                        seen = raw.tell()
                    yield line
                if self._on_bytes is not None:
                    self._on_bytes(raw.tell() - seen)
        except FileNotFoundError:
            raise InputError("no such file", path=path, fix="check the path and the current folder") from None
        except IsADirectoryError:
            raise InputError("is a folder", path=path, expected="a file") from None
        except PermissionError:
            raise InputError("may not be read", path=path, fix="check its permissions") from None
        except _DECODE_ERRORS as error:
            raise InputError(
                f"damaged or truncated {path.suffix} file ({error})",
                path=path,
                expected=f"a whole {path.suffix} file",
                fix=f"copy it again; test it with {'xz' if path.suffix == '.xz' else 'gzip'} -t {path.name}",
            ) from None


@contextmanager
def _decompressed(raw: IO[bytes], path: Path) -> Iterator[io.BufferedReader]:
    if path.suffix == ".xz":
        with lzma.LZMAFile(raw) as xz:
            yield io.BufferedReader(cast(io.RawIOBase, xz), 1 << 18)
    elif path.suffix == ".gz":
        with gzip.GzipFile(fileobj=raw) as gz:
            yield io.BufferedReader(cast(io.RawIOBase, gz), 1 << 18)
    else:
        yield cast(io.BufferedReader, raw)


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that becomes `path` when the block ends well, and is gone otherwise."""
    temporary = path.with_name(f".{path.name}.partial-{os.getpid()}")
    with writing(path):
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
        if path.suffix == ".xz":
            opened = lzma.open(temporary, "wt", encoding="utf-8", newline="\n")
        elif path.suffix == ".gz":
            opened = gzip.open(temporary, "wt", encoding="utf-8", newline="\n")
        else:
            opened = temporary.open("w", encoding="utf-8", newline="\n")
        with opened as stream:
            yield stream


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that becomes `folder` when the block ends well, and is gone otherwise.

    A folder already there is replaced at the end. What a killed process left is cleared away first.
    """
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        for stale in folder.parent.glob(f".{folder.name}.partial-*"):
            if not _alive(int(stale.name.rsplit("-", 1)[1])):
                shutil.rmtree(stale)
        temporary = folder.with_name(f".{folder.name}.partial-{os.getpid()}")
        temporary.mkdir()
        try:
            yield temporary
            if folder.exists():
                old = folder.with_name(f".{folder.name}.old-{os.getpid()}")
                folder.rename(old)
                temporary.rename(folder)
                shutil.rmtree(old)
            else:
                temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
