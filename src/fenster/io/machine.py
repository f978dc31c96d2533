"""What this machine has for computing: cores that are free, memory, a GPU or none; without PyTorch if possible."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from fenster.errors import FensterError

_GROUPS = Path("/sys/fs/cgroup")
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # of malloc.h
_LARGE, _KEPT = 1 << 19, 1 << 23  # bytes
_GPU_FILES = ("nvidiactl", "nvidia0", "nvmap", "kfd", "dxg")  # under /dev: NVIDIA's, Jetson's, AMD's, WSL's


def usual_threads() -> int:
    """As many as OMP_NUM_THREADS says, or as cores are free."""
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(wanted) if wanted.isdecimal() and int(wanted) else free_cores()


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


def keep_little_memory() -> None:
    """From now on, give large pieces of memory back to the system as soon as they are freed: glibc would keep more
    and more of them, in between smaller ones that stay."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGE)
        mallopt(_TRIM_THRESHOLD, _KEPT)  # it would be small from here, and searches would be slower


def release_memory() -> None:
    """Return memory that is not used any more to the system, where the C library would keep it: glibc does."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


def may_have_gpu() -> bool:
    """False if there is certainly no GPU that PyTorch's CUDA or ROCm could use: then it need not be asked."""
    if sys.platform == "darwin":
        return False
    return not sys.platform.startswith("linux") or any(Path("/dev", name).exists() for name in _GPU_FILES)


def find_device(name: str) -> str:
    """cpu or cuda for auto, cpu or cuda; an error if a GPU is asked for and there is none."""
    if name not in ("auto", "cpu", "cuda"):
        raise FensterError(f"unknown device {name!r}", expected="auto, cpu or cuda")
    if name == "cpu":
        return name
    there = False
    if may_have_gpu():
        import torch

        there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise FensterError("device: cuda, but there is no GPU here", fix="set device: auto or cpu")
    return "cuda" if there else "cpu"
