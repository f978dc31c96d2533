"""`fenster runs`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from fenster.errors import InputError
from fenster.io.plotting import check_plot_path
from fenster.io.progress import wide_console
from fenster.train.run_folder import RunFolder


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
        Plot the loss curves of all of them into one file (needs matplotlib).
    """
    run_folders = _find(folders or [Path("runs")])
    console = wide_console()
    table = Table("run", "state", "updates", "epoch", "valid ppl", "without ends", "loss", "tok/s", "hours", box=None)
    for folder in run_folders:
        table.add_row(str(folder.path), *_row(folder))
    console.print(table)
    configs = {folder.path: _flat(folder.read_config()) for folder in run_folders}
    keys = sorted({key for config in configs.values() for key in config})
    differing = [key for key in keys if len({str(config.get(key)) for config in configs.values()}) > 1]
    if len(run_folders) > 1 and differing:
        settings = Table("setting", *(str(path) for path in configs), box=None)
        for key in differing:
            settings.add_row(key, *(str(config.get(key, "-")) for config in configs.values()))
        console.print()
        console.print(settings)
    if plot is not None:
        from fenster.train.loss_curve import draw

        check_plot_path(plot)
        draw({str(folder.path): folder for folder in run_folders}, plot)
        print(f"-> {plot}")


def _find(folders: list[Path]) -> list[RunFolder]:
    run_folders = []
    for path in folders:
        here = [RunFolder(path)] if RunFolder(path).exists else []
        below = [RunFolder(record.parent) for record in sorted(path.glob("**/run.json"))] if not here else []
        if not here + below:
            raise InputError(
                "no run in this folder",
                path=path,
                expected="a folder that `fenster train` made, or one that holds some",
            )
        run_folders += here + below
    return run_folders


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
