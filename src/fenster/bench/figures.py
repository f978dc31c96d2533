"""Figures of a measurement, kept as JSON for tables and comparisons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fenster.io.files import atomic_text

JsonOption = Annotated[Path | None, Parameter(name="--json")]


def write_figures(path: Path, figures: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_text(path) as out:
        out.write(json.dumps(figures, indent=1) + "\n")


def machine(device: str) -> str:
    """What was measured on: the GPU, or the threads of the CPU."""
    import torch

    threads = torch.get_num_threads()
    name = torch.cuda.get_device_name() if device == "cuda" else f"{threads} CPU thread{'s' * (threads > 1)}"
    return f"{name}, torch {torch.__version__}"
