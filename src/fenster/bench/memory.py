"""The memory of this process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import psutil


@dataclass(frozen=True)
class Memory:
    """Resident bytes, now and at most."""

    now: int
    peak: int


def own_memory() -> Memory:
    """psutil knows no peak on Linux, and getrusage's starts at the parent's across fork and exec."""
    now = psutil.Process().memory_info().rss
    status = Path("/proc/self/status")
    if not status.is_file():
        return Memory(now, now)
    peak = status.read_text().partition("VmHWM:")[2].split()
    return Memory(now, 1024 * int(peak[0]))
