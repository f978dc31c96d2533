"""Pictures, where matplotlib is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fenster.corpus.files import atomic_path


def pyplot() -> Any | None:
    """matplotlib.pyplot without a screen; None where it is not installed."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as found
    except ImportError:
        return None
    return found


def save(figure: Any, path: Path) -> None:
    """Write a figure atomically, in the format that its name says (PNG without one)."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=130, format=path.suffix.lstrip(".") or "png")
