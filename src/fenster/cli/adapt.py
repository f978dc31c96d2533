"""`fenster adapt`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from fenster.cli.options import ModelOption


def adapt(
    *memories: Path,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    model: ModelOption = ModelOption(),
    general: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    minutes: float | None = None,
    beam: int = 4,
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """Fine-tune a model on your own translations.

    Some of your documents are held out: training stops when the model no longer improves on them, and the new model
    is written only if it translates them better than the old one. An interrupted call resumes with the same command.
    A few thousand pairs take minutes on a CPU.

    Examples:

    ```
    fenster adapt memory.tmx -o my-model
    fenster adapt 2024/*.xliff -o my-model --general europarl.tsv.xz --minutes 20
    fenster translate report.docx -m my-model
    ```

    Parameters
    ----------
    memories
        Your translations: corpora in any format (`fenster data formats`), or lines of source TAB translation.
    output
        The folder of the new model.
    general
        Corpora of general text. As much of it as of your own text is mixed into training, so that the model does not
        forget general language. Without them, its weights are pulled back towards the old ones instead.
    minutes
        Upper limit on the training time.
    beam
        Beam size for the comparison of the old and the new model.
    device
        Where to train.
    """
    from rich.table import Table

    from fenster.adapt import adapt as run
    from fenster.config import check
    from fenster.decode.config import DecodeConfig
    from fenster.errors import ConfigError
    from fenster.io.progress import report, wide_console

    if not memories:
        raise ConfigError("no translations were given", expected="one corpus or more, such as memory.tmx")
    result = run(
        memories,
        output,
        model.folder,
        general=general,
        minutes=minutes,
        decoding=check({"beam": beam}, DecodeConfig),
        device=device,
    )
    if result.stopped is not None:
        sys.exit(128 + result.stopped)
    table = Table("held out", "pairs", "BLEU", "chrF", box=None)
    for comparison in result.comparisons:
        table.add_row(*comparison.cells)
    wide_console().print(table)
    if not general:
        report("the effect on general text was not measured; --general CORPUS measures it, and reduces forgetting")
    print(f"-> {output}")
