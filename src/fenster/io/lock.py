"""Locks between processes, on every platform. A lock ends with its process, however that ends."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout


class ProcessLock:
    """Held by at most one process at a time; `acquire` never waits."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, FileLock(path)

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


def is_held(path: Path) -> bool:
    """True if a process holds the lock at `path`."""
    if not path.is_file():
        return False
    lock = ProcessLock(path)
    try:
        free = lock.acquire()
    except OSError:  # not ours to look at
        return False
    if free:
        lock.release()
    return not free
