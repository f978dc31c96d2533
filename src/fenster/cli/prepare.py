"""`fenster prepare`."""

from __future__ import annotations

import os
from pathlib import Path

from rich.table import Table

from fenster.cli.options import Flag, Output, Overrides
from fenster.config import load
from fenster.configs import find_config
from fenster.data.dataset import PreparedData
from fenster.data.prepare import prepare as run
from fenster.data.prepare.config import DATA_ROOT, PrepareConfig
from fenster.io.progress import wide_console


def prepare(
    config: Path,
    /,
    *,
    output: Output = None,
    data_root: Path | None = None,
    set_: Overrides = None,
    force: Flag = False,
) -> None:
    """Learn the tokenizer and turn raw documents into memory-mapped token ids.

    With the same inputs and settings a second run does nothing. An interrupted run leaves nothing behind.

    Examples:

    ```
    fenster prepare europarl --data-root ~/corpora
    fenster prepare europarl -o data/ep32k --set tokenizer.vocab_size=32000
    fenster prepare mine.yaml
    ```

    Parameters
    ----------
    config
        A YAML file, or the name of a built-in configuration (`fenster configs`); `europarl` explains every
        key.
    output
        The folder to make, instead of the config's.
    data_root
        The folder of raw corpora, `${FENSTER_DATA}` in configs; by default the environment variable of that name, or
        data/raw.
    set_
        Override a key: `--set filters.max_tokens=250`; may be given several times.
    force
        Replace an output folder that was made from other inputs or settings.
    """
    values = {} if output is None else {"output": output}
    root = data_root or Path(os.environ.get(DATA_ROOT, "data/raw"))
    variables = {DATA_ROOT: root.expanduser().as_posix()}
    loaded = load(find_config(config, "prepare"), PrepareConfig, set_ or (), values, variables)
    outcome = run(loaded, force=force)
    if not outcome.made:
        print(f"{outcome.prepared.folder}: up to date, nothing to do")
    show(outcome.prepared)


def show(prepared: PreparedData) -> None:
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
