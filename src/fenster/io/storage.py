"""Files here or elsewhere: plain paths, and whatever fsspec opens by a URL (s3://, gs://, hdfs://, https://, …).

Files are written under another name and renamed when they are complete, so that nobody ever sees half of one. Names
are strings with `/` between their parts.
"""

from __future__ import annotations

import gzip
import os
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, cast

import fsspec
from fsspec.implementations.local import LocalFileSystem

from fenster.errors import FensterError, InputError, writing

_TEMPORARY = ".partial-"


def is_url(name: str) -> bool:
    """True for a URL, False for a path on this machine."""
    return "://" in name


def joined(folder: str, *names: str) -> str:
    return "/".join([folder.rstrip("/") or "/", *names])


def absolute(name: str) -> str:
    """The whole name, as `matching` gives it."""
    files, path = _opened(name)
    return _full(files, name, path.rstrip("/"))


def exists(name: str) -> bool:
    files, path = _opened(name)
    return bool(files.exists(path))


def is_folder(name: str) -> bool:
    files, path = _opened(name)
    return bool(files.isdir(path))


def size_of(name: str) -> int:
    files, path = _opened(name)
    return int(files.size(path) or 0)


def version_of(name: str) -> str:
    """Changes when the file does, without reading it: its size and time, or what the store says instead."""
    files, path = _opened(name)
    if isinstance(files, LocalFileSystem):
        status = Path(path).stat()
        return f"{status.st_size}-{status.st_mtime_ns}"
    return str(files.ukey(path))


def matching(pattern: str) -> list[str]:
    """The files that a name or a pattern with `*` stands for, in order; a folder stands for all files below it, but
    hidden ones."""
    files, path = _opened(pattern)
    if any(character in path for character in "*?["):
        paths = files.glob(path)
    elif files.isdir(path):
        paths = files.find(path)
    else:
        paths = [path] if files.exists(path) else []
    base = path.rstrip("/") + "/"
    visible = (one for one in paths if not any(part.startswith(".") for part in one.removeprefix(base).split("/")))
    return [_full(files, pattern, one) for one in sorted(visible)]


def listed(folder: str) -> list[str]:
    """The names of the files in a folder, in order; none if there is no such folder."""
    files, path = _opened(folder)
    files.invalidate_cache(path)
    if not files.isdir(path):
        return []
    names = (str(one).rsplit("/", 1)[-1] for one in files.ls(path, detail=False))
    return sorted(name for name in names if not name.startswith("."))


def removed(name: str) -> None:
    """Remove a file, or a folder with all in it; fine if there is none."""
    files, path = _opened(name)
    if files.exists(path):
        files.rm(path, recursive=True)


@contextmanager
def reading(name: str) -> Iterator[IO[bytes]]:
    """The file's bytes; decompressed if its name says that they are compressed."""
    files, path = _opened(name)
    try:
        with files.open(path, "rb", compression="infer") as stream:
            yield stream
    except FileNotFoundError:
        raise InputError("no such file", path=name, fix="check the name") from None
    except PermissionError:
        raise InputError("may not be read", path=name, fix="check who may read it") from None


@contextmanager
def written(name: str, temporaries: str | None = None) -> Iterator[IO[bytes]]:
    """A file that appears under its name when the block succeeds; compressed if the name says so. A process that is
    killed leaves a part of it in the folder `temporaries`, or beside it."""
    files, path = _opened(name)
    folder, _, last = path.rpartition("/")
    aside = folder if temporaries is None else _opened(temporaries)[1]
    temporary = f"{aside}/.{uuid.uuid4().hex}{_TEMPORARY}{last}"
    with writing(Path(name)):
        for needed in {folder or "/", aside or "/"}:
            files.makedirs(needed, exist_ok=True)
        try:
            with files.open(temporary, "wb") as raw, _compressed(raw, last) as stream:
                yield stream
            if isinstance(files, LocalFileSystem):
                _settled(temporary)
                Path(temporary).replace(path)
            else:
                files.mv(temporary, path)
        except BaseException:
            if files.exists(temporary):
                files.rm(temporary)
            raise


def _settled(path: str) -> None:
    """On the disk, not only in the machine's memory, before it gets its name."""
    with Path(path).open("rb") as stream:
        os.fsync(stream.fileno())


def _compressed(stream: IO[bytes], name: str) -> AbstractContextManager[IO[bytes]]:
    """The same content is the same bytes: no names and times in them."""
    if name.endswith(".gz"):
        return cast(IO[bytes], gzip.GzipFile("", "wb", fileobj=stream, mtime=0))
    codec = fsspec.utils.infer_compression(name)
    return nullcontext(stream) if codec is None else fsspec.compression.compr[codec](stream, "wb")


def _opened(name: str) -> tuple[Any, str]:
    """(the file system, the path in it)."""
    try:
        files, path = fsspec.core.url_to_fs(name)
    except ImportError as error:
        raise FensterError(f"this kind of address needs another package ({error})", path=name) from None
    except ValueError as error:
        raise InputError(
            f"cannot be opened ({error})", path=name, expected="a path, or a URL such as s3://…"
        ) from None
    return files, str(path)


def _full(files: Any, given: str, path: str) -> str:
    return str(files.unstrip_protocol(path)) if is_url(given) else path
