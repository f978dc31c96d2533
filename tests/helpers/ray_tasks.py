"""Tasks for tests of clusters; in a module of their own, which the cluster's processes import."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from fenster.decode.translator import Translator


@dataclass(frozen=True)
class Deadly:
    """Leaves a file behind whenever it is tried, and kills its process if it `dies`."""

    number: int
    folder: Path
    dies: bool

    @property
    def name(self) -> str:
        return f"task {self.number}"

    @property
    def size(self) -> int:
        return 1

    def run(self, translator: Translator) -> str:
        (self.folder / f"{self.number}-{uuid4().hex}").touch()
        if self.dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"{self.number} done"
