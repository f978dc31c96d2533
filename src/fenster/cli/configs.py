"""`fenster configs`."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from fenster.configs import KINDS, built_in, find_config, summary
from fenster.errors import ConfigError
from fenster.io.progress import wide_console


def configs(name: str | None = None, /) -> None:
    """List the built-in configurations, or print one.

    To change one and use it as a file: `fenster configs train/europarl/window > mine.yaml`, then `fenster train
    mine.yaml`.

    Parameters
    ----------
    name
        `prepare/NAME`, `train/NAME`, or NAME alone if only one of the two has it.
    """
    if name is not None:
        print(_named(name).read_text(encoding="utf-8"), end="")
        return
    for kind in KINDS:
        table = Table(f"fenster {kind} …", "what it is", box=None)
        for config, path in built_in(kind).items():
            table.add_row(config, summary(path))
        wide_console().print(table)
        print()


def _named(name: str) -> Path:
    command, _, rest = name.partition("/")
    kind = next((kind for kind in KINDS if kind == command), None)
    if kind is not None:
        return find_config(Path(rest), kind)
    kinds = [kind for kind in KINDS if name in built_in(kind)]
    if len(kinds) == 1:
        return built_in(kinds[0])[name]
    known = [f"{kind}/{config}" for kind in KINDS for config in built_in(kind)]
    raise ConfigError(
        f"{'two configurations are' if kinds else 'no configuration is'} called {name!r}",
        expected=", ".join(f"{kind}/{name}" for kind in kinds) or ", ".join(known),
    )
