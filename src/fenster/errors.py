"""Errors that speak to the user: what is wrong, where, what was expected, how to fix it.

Everything a user can cause (bad files, bad settings, a full disk) is raised as a `FensterError`;
the command line prints it without a traceback and exits with 2. Any other exception is a bug.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


class FensterError(Exception):
    """Base of all errors caused by input, settings or the machine rather than by our code."""

    def __init__(
        self,
        what: str,
        *,
        path: Path | str | None = None,
        line: int | None = None,
        expected: str | None = None,
        fix: str | None = None,
    ) -> None:
        self.what, self.path, self.line, self.expected, self.fix = what, path, line, expected, fix
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        parts = [where + what]
        if expected is not None:
            parts.append(f"  expected: {expected}")
        if fix is not None:
            parts.append(f"  fix: {fix}")
        super().__init__("\n".join(parts))


class InputError(FensterError):
    """A corpus, shard or other data file is not what it should be."""


class ConfigError(FensterError):
    """A configuration is not valid; `what` lists every offending key with its path."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn operating-system errors while writing `path` (full disk, no permission) into clear ones."""
    try:
        yield
    except OSError as error:
        elsewhere = "choose another output"
        fixes = {
            errno.ENOSPC: "free some space or choose another output; no partial file was left behind",
            errno.EDQUOT: "free some of your quota or choose another output",
            errno.EACCES: "choose an output you may write to",
            errno.EPERM: "choose an output you may write to",
            errno.EROFS: "choose an output that is not read-only",
            **dict.fromkeys((errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP), elsewhere),
        }
        if error.errno not in fixes:
            raise
        raise FensterError(f"cannot write: {error.strerror}", path=path, fix=fixes[error.errno]) from error


def nan_error() -> FensterError:
    """For models whose weights are finite, but whose output is not."""
    return FensterError(
        "the model produced NaN: its training diverged",
        fix="train again, with a lower optimizer.lr or a longer optimizer.warmup",
    )


def counted(number: int, one: str, several: str = "") -> str:
    """A count with its noun, as in messages: 1 line, 2 lines. `several` is the plural, if it does not just add -s."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def first_of(names: Iterable[object], link: str = ", ") -> str:
    """The first ten of some names, for messages."""
    listed = list(map(str, names))
    return link.join(listed[:10]) + (" …" if len(listed) > 10 else "")
