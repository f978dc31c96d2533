"""Lines of a text by the places of characters."""

from __future__ import annotations

import re
from bisect import bisect_right


class LineIndex:
    def __init__(self, text: str) -> None:
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]
        """Where each line begins."""

    def line(self, at: int) -> int:
        """The line that a character is in, from 1."""
        return bisect_right(self.starts, at)
