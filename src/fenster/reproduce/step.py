"""One command of fenster, what it writes, and whether that has been done."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from fenster.io.files import atomic_text
from fenster.io.model_json import MODEL_JSON

Kind = Literal["prepare", "train", "evaluate"]


@dataclass(frozen=True)
class Step:
    kind: Kind
    command: tuple[str, ...]
    """Of fenster."""
    outputs: tuple[Path, ...]
    """A run's folder, or files of results."""
    seconds: float
    """Estimated."""
    model: Path | None = None
    """What an evaluation evaluates."""

    @property
    def stamp(self) -> Path:
        """The file that keeps the command that made the outputs, beside them."""
        return self.outputs[0].parent / f".{self.outputs[0].name}.command"

    @property
    def done(self) -> bool:
        """True if the same command has made its outputs, and no model is newer."""
        if self.kind == "prepare" or not self.stamp.exists():
            return False  # `fenster prepare` knows by itself, and is quick
        if self.stamp.read_text(encoding="utf-8") != self.signature:
            return False
        description = None if self.model is None else self.model / MODEL_JSON
        trained = description.stat().st_mtime if description is not None and description.exists() else 0.0
        return all(path.exists() and path.stat().st_mtime >= trained for path in self.outputs)

    @property
    def signature(self) -> str:
        """The command, whatever it runs on."""
        kept = (part for part in pairwise(("", *self.command)) if part[0] != "--device" and part[1] != "--device")
        return shlex.join(part for _, part in kept if not part.startswith("device="))

    def finished(self) -> None:
        """Remember that the command has made its outputs."""
        with atomic_text(self.stamp) as out:
            out.write(self.signature)
