"""`fenster prepare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.table import Table

from fenster.config import PrepareConfig, load
from fenster.prepare import prepare as run
from fenster.progress import wide_console
from fenster.shards import Prepared


def prepare(
    config: Path,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative="")] = None,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Learn the tokenizer and turn raw documents into memory-mapped token ids.

    With the same inputs and settings a second run does nothing. An interrupted run leaves nothing behind.

    Examples:

    ```
    fenster prepare configs/prepare/europarl.yaml
    fenster prepare configs/prepare/europarl.yaml -o data/ep32k --set tokenizer.vocab_size=32000
    ```

    Parameters
    ----------
    config
        A YAML file; configs/prepare/europarl.yaml explains every key.
    output
        The folder to make, instead of the config's.
    set_
        Override a key: `--set filters.max_tokens=250`; may be given several times.
    force
        Replace an output folder that was made from other inputs or settings.
    """
    values = {} if output is None else {"output": output}
    outcome = run(load(config, PrepareConfig, set_ or (), values), force=force)
    if not outcome.made:
        print(f"{outcome.prepared.folder}: up to date, nothing to do")
    show(outcome.prepared)


def show(prepared: Prepared) -> None:
    """A table of what a folder of prepared data holds."""
    manifest = prepared.manifest
    table = Table("split", "documents", "sentences", "source tokens", "target tokens", "removed", box=None)
    for name, split in manifest.splits.items():
        removed = ", ".join(f"{reason} {count:,}" for reason, count in split.removed.items()) or "-"
        table.add_row(
            name,
            f"{split.documents:,}",
            f"{split.sentences:,}",
            f"{split.source_tokens:,}",
            f"{split.target_tokens:,}",
            removed,
        )
    console = wide_console()
    console.print(table)
    for name, split in manifest.splits.items():
        if split.documents_cut or split.documents_dropped:
            console.print(
                f"{name}: {split.read_documents:,} documents and {split.read_sentences:,} pairs read, "
                f"{split.documents_cut:,} documents cut, {split.documents_dropped:,} dropped"
            )
        if split.kept_bad_text:
            console.print(f"{name}: {split.kept_bad_text:,} pairs with control characters kept (a test set)")
        if split.further_references:
            console.print(f"{name}: {split.further_references:,} further references are not part of prepared data")
    ratio = manifest.train_ratio
    console.print(
        f"vocabulary {manifest.vocab_size:,}; train_ratio {ratio.macro:.4f} "
        f"(mean of {ratio.parts:,} parts of up to {ratio.limit} target tokens; {ratio.micro:.4f} overall)"
    )
    console.print(f"-> {prepared.folder}", soft_wrap=True)
