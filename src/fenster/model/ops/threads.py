"""How many threads to compute with on a CPU, and which of them wait without spinning."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from fenster.model.ops import native

_GROUPS = Path("/sys/fs/cgroup")


def use_threads(wanted: int | None) -> None:
    """Compute with so many threads from now on; None: as many as cores are free, or as OMP_NUM_THREADS says."""
    if wanted is None and "OMP_NUM_THREADS" in os.environ:
        return
    torch.set_num_threads(wanted or free_cores())


def free_cores() -> int:
    """Cores that this process may use and that nothing else uses, at least one."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cores = min(allowed, _quota(_GROUPS) or allowed)
    try:
        busy = os.getloadavg()[0]  # of the last minute, in which we have only just begun
    except (AttributeError, OSError):  # Windows
        busy = 0.0
    return max(1, cores - int(busy))


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


@contextmanager
def native_threads() -> Iterator[None]:
    """All threads for the compiled library, whose threads end when they have nothing to do, and one for PyTorch: a
    step of a search is many small operations, between which PyTorch's threads would spin."""
    threads = torch.get_num_threads()
    native.threads = threads
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        native.threads = None
