"""Files here or elsewhere: plain paths, and whatever fsspec opens by a URL (s3://, gs://, hdfs://, https://, …).

Files are written under another name and renamed when they are complete, so that nobody ever sees half of one. Names
are strings with `/` between their parts.
"""

from __future__ import annotations

import gzip
import os
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import fsspec
from fsspec.implementations.local import LocalFileSystem

from fenster.errors import FensterError, InputError, writing

_TEMPORARY = ".partial-"
_VERSIONS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "VersionId", "generation", "size")


Result = TypeVar("Result")


@contextmanager
def _plain_words(name: str) -> Iterator[None]:
    """What a store elsewhere says is an error for people: libraries raise anything (no credentials, no network)."""
    try:
        yield
    except (FensterError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:
        if not is_url(name):
            raise
        text = str(error).strip().splitlines() or [type(error).__name__]
        raise FensterError(
            f"cannot be reached ({text[0]})", path=name, fix="check the address, your credentials and the network"
        ) from error


def _in_plain_words(function: Callable[[str], Result]) -> Callable[[str], Result]:
    @wraps(function)
    def speaking(name: str, /) -> Result:
        with _plain_words(name):
            return function(name)

    return speaking


def is_url(name: str) -> bool:
    """True for a URL, False for a path on this machine."""
    return "://" in name


def joined(folder: str, *names: str) -> str:
    return "/".join([folder.rstrip("/") or "/", *names])


def absolute(name: str) -> str:
    """The whole name, as `matching` gives it."""
    files, path = _opened(name)
    return _full(files, name, path.rstrip("/") or path)


@_in_plain_words
def exists(name: str) -> bool:
    files, path = _opened(name)
    return bool(files.exists(path))


@_in_plain_words
def is_folder(name: str) -> bool:
    files, path = _opened(name)
    return bool(files.isdir(path))


@_in_plain_words
def size_of(name: str) -> int:
    files, path = _opened(name)
    return int(files.size(path) or 0)


@_in_plain_words
def version_of(name: str) -> str:
    """Changes when the file does, without reading it: its size and time, or what the store says instead. Where
    nothing is said (some web servers), it is never the same twice."""
    files, path = _opened(name)
    if isinstance(files, LocalFileSystem):
        status = Path(path).stat()
        return f"{status.st_size}-{status.st_mtime_ns}"
    told = {key: value for key, value in files.info(path).items() if key in _VERSIONS and value is not None}
    return str(sorted(told.items(), key=str)) if told.keys() - {"size"} else uuid.uuid4().hex


@_in_plain_words
def matching(pattern: str) -> list[str]:
    """The files that a name stands for, in order: the file itself, all files below a folder, or the matches of a
    pattern with `*`. Hidden files count only if they are named."""
    files, path = _opened(pattern)
    fixed = path
    if files.isdir(path):
        paths = files.find(path)
    elif files.exists(path):
        return [_full(files, pattern, path)]
    else:
        fixed = re.split(r"[*?\[]", path, maxsplit=1)[0].rpartition("/")[0]
        paths = [file for one in files.glob(path) for file in (files.find(one) if files.isdir(one) else [one])]
    base = fixed.rstrip("/") + "/"
    visible = (one for one in paths if not any(part.startswith(".") for part in one.removeprefix(base).split("/")))
    return [_full(files, pattern, one) for one in sorted(visible)]


@_in_plain_words
def listed(folder: str) -> list[str]:
    """The names of the files in a folder, in order; none if there is no such folder."""
    files, path = _opened(folder)
    files.invalidate_cache(path)
    if not files.isdir(path):
        return []
    names = (str(one).rsplit("/", 1)[-1] for one in files.ls(path, detail=False))
    return sorted(name for name in names if not name.startswith("."))


@_in_plain_words
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
        with _plain_words(name):
            opened = files.open(path, "rb", compression="infer")
        with opened as stream:
            yield stream
    except FileNotFoundError:
        raise InputError("no such file", path=name, fix="check the name") from None
    except PermissionError:
        raise InputError("permission denied", path=name, fix="check its permissions") from None


@contextmanager
def written(name: str, temporaries: str | None = None) -> Iterator[IO[bytes]]:
    """A file that appears under its name when the block succeeds; compressed if the name says so. A process that is
    killed leaves a part of it in the folder `temporaries`, or beside it."""
    files, path = _opened(name)
    folder, _, last = path.rpartition("/")
    aside = folder if temporaries is None else _opened(temporaries)[1]
    temporary = f"{aside}/.{uuid.uuid4().hex}{_TEMPORARY}{last}"
    with writing(Path(name)):
        with _plain_words(name):
            for needed in {folder or "/", aside or "/"}:
                files.makedirs(needed, exist_ok=True)
        try:
            with files.open(temporary, "wb") as raw, _compressed(raw, last) as stream:
                yield stream
            if isinstance(files, LocalFileSystem):
                _settled(temporary)
                Path(temporary).replace(path)
            else:
                files.cp_file(temporary, path)  # and not `mv`, to which [ and * in names are patterns
                files.rm_file(temporary)
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
    if not is_url(name):
        return LocalFileSystem(), os.path.abspath(name)  # noqa: PTH100 - links stay
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
    """The name of a path in the file system of `given`, with its scheme and host."""
    if not is_url(given):
        return path
    own = str(files._strip_protocol(given))
    bare, own = given.rstrip("/"), own.rstrip("/")
    return bare.removesuffix(own) + path if bare.endswith(own) else str(files.unstrip_protocol(path))
