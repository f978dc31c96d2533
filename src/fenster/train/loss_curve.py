"""Plots of loss curves, of one run or several."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fenster.io.plotting import pyplot, save
from fenster.train.run_folder import RunFolder


def draw(runs: Mapping[str, RunFolder], path: Path) -> bool:
    """Training loss and validation perplexity by updates; False if matplotlib is not installed."""
    plot = pyplot()
    if plot is None:
        return False
    from matplotlib import ticker

    figure, (left, right) = plot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for name, folder in runs.items():
        losses = [
            (entry["update"], entry["loss"]) for entry in folder.entries("train") if entry.get("loss") is not None
        ]
        valid = [
            (entry["update"], entry["perplexity"])
            for entry in folder.entries("valid")
            if "perplexity" in entry and "weights" not in entry
        ]
        if losses:
            left.plot(*zip(*losses, strict=True), label=name, linewidth=1)
        if valid:
            (line,) = right.plot(*zip(*valid, strict=True), marker=".", label=name)
            best = min(valid, key=lambda point: point[1])
            right.annotate(
                f"{best[1]:.2f}", best, textcoords="offset points", xytext=(0, 7), ha="right", color=line.get_color()
            )
    left.set(xlabel="updates", ylabel="training loss per token (smoothed labels)")
    right.set(xlabel="updates", ylabel="validation perplexity", yscale="log")
    right.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    right.yaxis.set_minor_formatter(ticker.LogFormatter(minor_thresholds=(2, 0.5)))
    for panel in (left, right):
        panel.grid(alpha=0.3)
        if panel.get_legend_handles_labels()[1]:
            panel.legend(fontsize="small")
    save(figure, path)
    plot.close(figure)
    return True
