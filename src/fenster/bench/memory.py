"""Memory of this process, read from the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Memory:
    """Bytes: resident now, and the most there ever was."""

    now: int
    peak: int


def own_memory() -> Memory:
    """Not getrusage: across fork and exec its peak begins at the parent's."""
    status = Path("/proc/self/status").read_text()
    now, peak = (1024 * int(status.partition(f"{key}:")[2].split()[0]) for key in ("VmRSS", "VmHWM"))
    return Memory(now, peak)
