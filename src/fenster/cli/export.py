"""`fenster export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fenster.cli.options import ModelOption
from fenster.errors import ConfigError
from fenster.io.files import TextFiles


def export(
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    model: ModelOption = ModelOption(),
    card: Path | None = None,
) -> None:
    """Write a model folder with 8-bit weights: a quarter of the size, in files of about 15 MB.

    It is loaded like any other; on a CPU it also computes in 8 bits (`--no-int8` turns that off).

    Example: `fenster export -m runs/default/model -o en-de`

    Parameters
    ----------
    output
        The folder to write.
    card
        A Markdown file instead of the model's card.
    """
    from fenster.model.model_folder import export_model

    folder = model.folder
    if folder.resolve().is_relative_to(output.resolve()):
        raise ConfigError("a model cannot overwrite itself", path=output)
    text = None if card is None else "".join(f"{line}\n" for _, line in TextFiles().lines(card))
    size = export_model(folder, output, text)
    print(f"{size / 1e6:.1f} MB -> {output}")
