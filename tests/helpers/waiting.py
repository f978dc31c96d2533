"""Waiting for other processes, never without a deadline."""

import subprocess
import time
from collections.abc import Callable
from typing import Any

DEADLINE = 300.0  # seconds: a busy machine is slow, a dead child is noticed at once


def wait_until(
    condition: Callable[[], object], process: subprocess.Popen[Any] | None = None, pause: float = 0.02
) -> None:
    """Until `condition()` is true; a process that ends first, or the deadline, is a failure."""
    began = time.monotonic()
    while not condition():
        assert process is None or process.poll() is None, f"the process ended early with {process.returncode}"
        assert time.monotonic() - began < DEADLINE, "the deadline has passed"
        time.sleep(pause)
