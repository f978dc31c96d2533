"""The compiled library in tests: its instruction sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fenster.io.native_library import required_library

PLAIN, AVX2, AVX_VNNI, AVX512, NEON = 1, 2, 3, 4, 5
INSTRUCTIONS = (PLAIN, AVX2, AVX_VNNI, AVX512, NEON)


@contextmanager
def instructions(kind: int) -> Iterator[None]:
    """Compute with these; the test is skipped if the processor does not have them."""
    if not required_library().fenster_use_instructions(kind):
        pytest.skip("this processor does not have these instructions")
    try:
        yield
    finally:
        required_library().fenster_use_instructions(0)
