"""Plots of a report; none if matplotlib is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fenster.evaluate.report.collect import Collection, amount, item_sets, label, main_strategy
from fenster.io.plotting import pyplot

_CONTEXTS = ("sentences", "words")


def plots(collection: Collection) -> Iterator[tuple[str, str, Any]]:
    """(name, caption, matplotlib figure)"""
    plt = pyplot()
    if plt is None:
        return
    plt.rcParams.update({"svg.fonttype": "none", "font.size": 9})
    for make in (_by_context, _by_distance, _by_given, _heat):
        for name, caption, figure in make(collection, plt):
            yield name, caption, figure
            plt.close(figure)


def _by_context(collection: Collection, plt: Any) -> Iterator[tuple[str, str, Any]]:
    """BLEU by how much context a system has."""
    for test in collection.tests():
        results = [
            placed.result
            for placed in main_strategy(collection.of("translation", test))
            if placed.result.system.context
        ]
        if len(results) < 2:
            continue
        figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
        labels = list(dict.fromkeys(result.system.context or "" for result in results))
        for attention in dict.fromkeys(result.system.attention for result in results):
            points = [
                (labels.index(result.system.context or ""), score.score, score.low, score.high)
                for result in results
                if result.system.attention == attention and (score := result.score("BLEU"))
            ]
            xs, ys, lows, highs = (np.array(column, dtype=float) for column in zip(*points, strict=True))
            errors = np.maximum(0, [ys - lows, highs - ys])
            axes.errorbar(xs, ys, errors, fmt="o", capsize=4, label=attention)
        axes.set(xticks=range(len(labels)), xticklabels=labels, xlabel="context", ylabel="BLEU", title=test)
        axes.legend(frameon=False)
        note = f"BLEU by context on {test}, with 95 % intervals over {results[0].unit}"
        yield f"bleu-by-context-{test}", note, figure


def _by_distance(collection: Collection, plt: Any) -> Iterator[tuple[str, str, Any]]:
    """Accuracy by distance to the deciding sentence."""
    effective = {
        placed.result.system.name: placed.result.extra.get("effective_context")
        for placed in collection.of("attention")
    }
    for test in dict.fromkeys(placed.result.test for placed in collection.of("distance")):
        results = [placed.result for placed in collection.of("distance", test)]
        kinds = sorted({line["kind"] for result in results for line in result.table})
        figure, grid = plt.subplots(
            len(kinds), 2, figsize=(9, 2.6 * len(kinds)), sharey=True, squeeze=False, layout="constrained"
        )
        for row, kind in zip(grid, kinds, strict=True):
            for axes, unit in zip(row, _CONTEXTS, strict=True):
                for result in results:
                    lines = [line for line in result.table if line["kind"] == kind and line["unit"] == unit]
                    xs = [line["middle"] for line in lines]
                    ys = [100 * line["right"] / line["total"] for line in lines]
                    (drawn,) = axes.plot(xs, ys, "o-", label=label(result))
                    far = effective.get(result.system.name)
                    if unit == "words" and far is not None and xs and far < 2 * max(xs):
                        axes.axvline(far, color=drawn.get_color(), linestyle=":")
                axes.set(xlabel=f"distance in {unit}", ylabel=f"{kind} right, %", ylim=(0, 105))
        grid[0][0].legend(frameon=False)
        note = f"Choices on {test} by distance to the sentence that decides them; dotted: effective context in tokens"
        yield f"accuracy-by-distance-{test}", note, figure


def _by_given(collection: Collection, plt: Any) -> Iterator[tuple[str, str, Any]]:
    """Items by the context that was given, one plot per set."""
    for name in item_sets(collection):
        results = [placed.result for placed in collection.of("items") if placed.result.extra.get("set") == name]
        amounts = sorted({result.variant for result in results}, key=amount)
        if len(amounts) < 2:
            continue
        figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
        for system in dict.fromkeys(result.system.name for result in results):
            points = {
                result.variant: score.score
                for result in results
                if result.system.name == system and (score := result.score("expected form"))
            }
            axes.plot([amounts.index(key) for key in points], list(points.values()), "o-", label=system)
        axes.set(xticks=range(len(amounts)), xticklabels=amounts)
        axes.set(xlabel="preceding sentences", ylabel="expected form, %", title=name)
        axes.legend(frameon=False)
        yield f"items-{name}", f"Items of {name} whose translation holds the expected form, by context given", figure


def _heat(collection: Collection, plt: Any) -> Iterator[tuple[str, str, Any]]:
    """Cross-attention of a chosen sentence."""
    for placed in collection.of("attention"):
        heat = placed.result.extra.get("heat")
        if not heat:
            continue
        wide, high = len(heat["source"]), len(heat["target"])
        figure, axes = plt.subplots(
            figsize=(min(16, 1.6 + 0.17 * wide), min(12, 1.4 + 0.17 * high)), layout="constrained"
        )
        axes.imshow(heat["weights"], aspect="auto", cmap="magma_r", vmin=0)
        axes.set_xticks(range(wide), heat["source"], rotation=90, fontsize=6)
        axes.set_yticks(range(high), heat["target"], fontsize=6)
        for edge in (heat["first"], heat["last"]):
            axes.axvline(edge - 0.5, color="tab:blue", linewidth=1)
        title = f"{label(placed.result)}: segment {heat['segment'] + 1} of {heat['document']}"
        note = "mean over heads and layers; between the blue lines is the sentence itself"
        axes.set_title(title, fontsize=8)
        yield f"attention-{label(placed.result)}-{placed.result.test}", f"Cross-attention, {title}; {note}", figure
