"""Locks between processes, on every platform. A lock ends with its process, however that ends."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

if sys.platform != "win32":
    import fcntl


class ProcessLock:
    """Held by at most one process at a time; `acquire` never waits."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, FileLock(path, thread_local=False)  # any thread may release it

    def acquire(self) -> bool:
        """True if the lock is ours now, False if another process holds it."""
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            return False
        return True

    def release(self, *, remove: bool = False) -> None:
        """Give the lock up; `remove` also deletes its file (waiting processes notice that and start over)."""
        if remove:
            with suppress(OSError):  # Windows does not delete open files
                self._path.unlink()
        self._lock.release()


if sys.platform == "win32":

    def is_held(path: Path) -> bool:
        """True if a process holds the lock at `path`."""
        if not path.is_file():
            return False
        lock = ProcessLock(path)
        free = lock.acquire()
        if free:
            lock.release()
        return not free

else:

    def is_held(path: Path) -> bool:
        """True if a process holds the lock at `path`; checking needs no write permission and disturbs nobody."""
        try:
            with path.open("rb") as stream:
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # no lock, or not ours to look at
            return False
        return False
