"""`fenster train` and `fenster runs`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from fenster.config import load
from fenster.errors import InputError
from fenster.picture import check_picture
from fenster.progress import console as stderr
from fenster.progress import wide_console
from fenster.train.folder import RunFolder


def train(
    config: Path,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    data: Path | None = None,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative="")] = None,
) -> None:
    """Train a system on prepared data, or go on where an earlier call stopped.

    A run that was killed, stopped (Ctrl-C, SIGTERM) or ran out of time goes on with the same command. The best model
    so far is always in OUTPUT/model.

    Examples:

    ```
    fenster train configs/train/toy.yaml
    fenster train configs/train/europarl/window.yaml --set stop.minutes=9
    torchrun --nproc-per-node 4 -m fenster train configs/train/europarl/window.yaml --set optimizer.batches=4
    ```

    Parameters
    ----------
    config
        A YAML file; configs/train/europarl/window.yaml explains every key.
    output
        The run's folder, instead of the config's.
    data
        The prepared data, instead of the config's.
    set_
        Override a key: `--set model.dropout=0.1`; may be given several times.
    """
    # Less fragmentation with batches of many shapes. Read when torch first meets the GPU.
    os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")
    from fenster.train.config import TrainConfig
    from fenster.train.loop import train as run

    values = {key: value for key, value in (("output", output), ("data", data)) if value is not None}
    loaded = load(config, TrainConfig, set_ or (), values)
    if data is not None and loaded.card.note is not None and not any(each.startswith("card.") for each in set_ or ()):
        stderr.print(
            f"the model's card will say: {loaded.card.note}; licence {loaded.card.licence or 'not stated'}. If that "
            "is not true of this data: --set card.note=… --set card.licence=…",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    outcome = run(loaded)
    if outcome.stopped is not None:
        sys.exit(128 + outcome.stopped)
    if not outcome.main:
        return
    best = outcome.progress.best
    if best is not None:
        print(f"best validation perplexity {best:.4f} at update {outcome.progress.best_update:,}")
    if (outcome.folder / "model").is_dir():
        print(f"-> {outcome.folder}/model")


def runs(
    folders: list[Path] | None = None,
    /,
    *,
    plot: Path | None = None,
) -> None:
    """List training runs and show in which settings they differ.

    Examples:

    ```
    fenster runs
    fenster runs runs/sentence runs/window --plot curves.png
    ```

    Parameters
    ----------
    folders
        Runs, or folders that hold runs; `runs` by default.
    plot
        Draw the loss curves of all of them into one picture (needs matplotlib).
    """
    found = _find(folders or [Path("runs")])
    console = wide_console()
    table = Table("run", "state", "updates", "epoch", "valid ppl", "inside", "loss", "tok/s", "hours", box=None)
    for folder in found:
        table.add_row(str(folder.path), *_row(folder))
    console.print(table)
    configs = {folder.path: _flat(folder.read_config()) for folder in found}
    keys = sorted({key for config in configs.values() for key in config})
    differing = [key for key in keys if len({str(config.get(key)) for config in configs.values()}) > 1]
    if len(found) > 1 and differing:
        settings = Table("setting", *(str(path) for path in configs), box=None)
        for key in differing:
            settings.add_row(key, *(str(config.get(key, "-")) for config in configs.values()))
        console.print()
        console.print(settings)
    if plot is not None:
        from fenster.train.curve import draw

        check_picture(plot)
        draw({str(folder.path): folder for folder in found}, plot)
        print(f"-> {plot}")


def _find(folders: list[Path]) -> list[RunFolder]:
    found = []
    for path in folders:
        here = [RunFolder(path)] if RunFolder(path).exists else []
        below = [RunFolder(each.parent) for each in sorted(path.glob("**/run.json"))] if not here else []
        if not here + below:
            raise InputError(
                "no run here", path=path, expected="a folder that `fenster train` made, or one that holds some"
            )
        found += here + below
    return found


def _row(folder: RunFolder) -> list[str]:
    train, valid = folder.entries("train"), folder.entries("valid")
    state = "running" if folder.running() else "finished" if folder.entries("stop") else "stopped"
    measured = [entry for entry in valid if entry.get("perplexity") is not None]
    best: dict[str, Any] = min(measured, key=lambda entry: float(entry["perplexity"]), default={})
    last: dict[str, Any] = train[-1] if train else {}

    def cell(entry: dict[str, Any], key: str, form: str) -> str:
        return "-" if entry.get(key) is None else format(entry[key], form)

    return [
        state,
        cell(last, "update", ","),
        cell(last, "epoch", ".1f"),
        cell(best, "perplexity", ".4f"),
        cell(best, "perplexity_inside", ".4f"),
        cell(last, "loss", ".3f"),
        cell(last, "tokens_per_second", ",.0f"),
        f"{last['seconds'] / 3600:.2f}" if last.get("seconds") is not None else "-",
    ]


def _flat(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in config.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat
