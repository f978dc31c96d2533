"""How many threads to compute with on a CPU, and which of them wait without spinning."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

import torch

from fenster.model.ops import native

_GROUPS = Path("/sys/fs/cgroup")


def use_threads(wanted: int | None) -> None:
    """Compute with so many threads from now on; None: `usual_threads`."""
    torch.set_num_threads(wanted or usual_threads())


def usual_threads() -> int:
    """As many as OMP_NUM_THREADS says, or as cores are free."""
    return torch.get_num_threads() if "OMP_NUM_THREADS" in os.environ else free_cores()


def free_cores() -> int:
    """Cores that this process may use and that nothing else uses: at least half of them, since the load of the last
    minute may be that of a program that has ended, or of a host that we see little of."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cores = min(allowed, _quota(_GROUPS) or allowed)
    try:
        busy = int(os.getloadavg()[0])
    except (AttributeError, OSError):  # Windows
        busy = 0
    return max(1, (cores + 1) // 2, cores - busy)


def _quota(groups: Path) -> int | None:
    """Cores that the control group allows, rounded up; None if it does not limit them, or there is none."""
    try:
        if (groups / "cpu.max").is_file():
            quota, period = (groups / "cpu.max").read_text().split()
        else:
            quota = (groups / "cpu" / "cpu.cfs_quota_us").read_text()
            period = (groups / "cpu" / "cpu.cfs_period_us").read_text()
        return -(-int(quota) // int(period)) if int(quota) > 0 else None
    except (OSError, ValueError):  # "max", or no control groups here
        return None


class _NativeThreads:
    """How many searches run, in all threads of the program; the first sets the numbers, the last restores them."""

    def __init__(self) -> None:
        self._lock, self._running, self._before = Lock(), 0, 1

    def enter(self) -> None:
        with self._lock:
            self._running += 1
            if self._running == 1:
                self._before = native.threads = torch.get_num_threads()
            torch.set_num_threads(1)

    def leave(self) -> None:
        with self._lock:
            self._running -= 1
            if not self._running:
                native.threads = None
                torch.set_num_threads(self._before)


_native_threads = _NativeThreads()


@contextmanager
def native_threads() -> Iterator[None]:
    """All threads for the compiled library, whose threads sleep when they have nothing to do, and one for PyTorch: a
    step of a search is many small operations, between which PyTorch's threads would spin."""
    _native_threads.enter()
    try:
        yield
    finally:
        _native_threads.leave()
