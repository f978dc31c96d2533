"""`fenster export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from fenster.cli.options import ModelOption, Paths
from fenster.errors import ConfigError
from fenster.io.files import TextFiles


def export(
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    model: ModelOption = ModelOption(),
    card: Path | None = None,
    bits: Literal[8, 16] = 8,
    average_with: Paths = None,
) -> None:
    """Write a model folder with smaller weights, in files of about 15 MB.

    It is loaded like any other. With 8 bits it also computes in 8 bits on a CPU (`--no-int8` turns that off); 16 bits
    are for training that continues elsewhere (`warm_start`).

    Examples:

    ```
    fenster export -m runs/default/model -o en-de
    fenster export -m runs/default/model -o en-de-16 --bits 16
    fenster export -m runs/second/model --average-with runs/first/model -o en-de
    ```

    Parameters
    ----------
    output
        The folder to write.
    card
        A Markdown file instead of the model's card.
    bits
        Of each weight.
    average_with
        Other models: the weights are the mean of all. For models that were trained from the same weights
        (`warm_start`); others have nothing in common. A model that is named twice counts twice.
    """
    from fenster.model.model_folder import export_model

    folder, others = model.folder, average_with or []
    if any(path.resolve().is_relative_to(output.resolve()) for path in (folder, *others)):
        raise ConfigError("a model cannot overwrite itself", path=output)
    text = None if card is None else "".join(f"{line}\n" for _, line in TextFiles().lines(card))
    size = export_model(folder, output, text, bits, others)
    print(f"{size / 1e6:.1f} MB -> {output}")
