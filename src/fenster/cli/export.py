"""`fenster export`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from fenster.cli.options import ModelOption, Paths
from fenster.errors import ConfigError
from fenster.io.files import TextFiles

if TYPE_CHECKING:
    from fenster.language.lexicon import Lexicon


def export(
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    model: ModelOption = ModelOption(),
    card: Path | None = None,
    bits: Literal[8, 16] = 8,
    average_with: Paths = None,
    lexicon_from: Paths = None,
) -> None:
    """Write a model folder with smaller weights, in files of about 15 MB.

    The folder is loaded like any other. An 8-bit model also computes in 8 bits on a CPU (`--no-int8` turns that off);
    16 bits are for continuing training elsewhere (`warm_start`).

    Examples:

    ```
    fenster export -m runs/default/model -o en-de
    fenster export -m runs/default/model -o en-de-16 --bits 16
    fenster export -m runs/second/model --average-with runs/first/model -o en-de
    fenster export -m runs/default/model -o en-de --lexicon-from europarl.tsv.xz manuals.tsv.xz
    ```

    Parameters
    ----------
    output
        The folder to write.
    card
        A Markdown file to use instead of the model's own card.
    bits
        Bits per weight.
    average_with
        Other models to average with: the weights are the mean of all. Use it for models that were trained from the
        same weights (`warm_start`); others have nothing in common. A model that is named twice counts twice.
    lexicon_from
        The corpora that the model was trained on, one file each: their words are stored in the folder, so that
        translation can recognise names (capitalised words that are not among them) and keep them. By default the
        model's own lexicon, if it has one.
    """
    from fenster.model.model_folder import export_model

    folder, others = model.folder, average_with or []
    if any(path.resolve().is_relative_to(output.resolve()) for path in (folder, *others)):
        raise ConfigError("a model cannot overwrite itself", path=output)
    text = None if card is None else "".join(f"{line}\n" for _, line in TextFiles().lines(card))
    lexicon = None if lexicon_from is None else _lexicon(lexicon_from)
    size = export_model(folder, output, text, bits, others, lexicon)
    print(f"{size / 1e6:.1f} MB -> {output}")


def _lexicon(corpora: Sequence[Path]) -> Lexicon:
    from fenster.data.corpora.stream import stream_all
    from fenster.language.lexicon import LexiconBuilder

    builder = LexiconBuilder()
    for _, document in stream_all("collecting words", [([path], None) for path in corpora]):
        for source, target in zip(document.source.texts, document.target.texts, strict=True):
            builder.add(source, target)
    return builder.lexicon()
