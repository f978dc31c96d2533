"""Plots, if matplotlib is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fenster.errors import FensterError
from fenster.io.files import atomic_path


def pyplot() -> Any | None:
    """matplotlib.pyplot without a screen; None if it is not installed."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as module
    except ImportError:
        return None
    return module


def check_plot_path(path: Path) -> None:
    """Before long work: an error if a plot could not be drawn at its end."""
    if pyplot() is None:
        raise FensterError("drawing needs matplotlib", fix="pip install 'fenster[plot]'")
    from matplotlib.backend_bases import FigureCanvasBase

    known = sorted(FigureCanvasBase.filetypes)
    if path.suffix and path.suffix.lstrip(".").lower() not in known:
        raise FensterError("unsupported image format", path=path, expected=f"a name in {', '.join(known)}")


def save(figure: Any, path: Path) -> None:
    """Write a figure atomically, in the format of its suffix (PNG without one)."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=130, format=path.suffix.lstrip(".") or "png")
