"""Time and memory by length, log-log, as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fenster.io.plotting import check_plot_path, pyplot, save


def by_length(path: Path, title: str, rows: Mapping[str, Mapping[int, tuple[float, int]]]) -> None:
    """Draw {name: {length: (seconds, bytes)}} as two panels."""
    check_plot_path(path)
    plot = pyplot()
    assert plot is not None
    figure, panels = plot.subplots(1, 2, figsize=(11, 5), layout="constrained")
    for panel, part, label in ((panels[0], 0, "seconds"), (panels[1], 1, "peak memory, bytes")):
        for name, points in rows.items():
            if points:
                lengths = sorted(points)
                panel.plot(lengths, [points[length][part] for length in lengths], marker="o", label=name)
        panel.set(xscale="log", yscale="log", xlabel="tokens", ylabel=label)
        panel.grid(alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small")
    figure.suptitle(title)
    save(figure, path)
    plot.close(figure)
