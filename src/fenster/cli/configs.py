"""`fenster configs`."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from fenster.configs import KINDS, Kind, find_config, shipped, summary
from fenster.io.progress import wide_console


def configs(name: str | None = None, /) -> None:
    """List the configurations that ship with fenster, or print one.

    Examples:

    ```
    fenster configs
    fenster configs train/europarl/window > mine.yaml
    ```

    Parameters
    ----------
    name
        `prepare/NAME` or `train/NAME`: print that configuration, to be changed and used as a file.
    """
    if name is not None:
        command, _, rest = name.partition("/")
        kind: Kind = "train" if command == "train" else "prepare"
        path = find_config(Path(rest if command in ("prepare", "train") else name), kind)
        print(path.read_text(encoding="utf-8"), end="")
        return
    for kind in KINDS:
        table = Table(f"fenster {kind} …", "what it is", box=None)
        for config, path in shipped(kind).items():
            table.add_row(config, summary(path))
        wide_console().print(table)
        print()
