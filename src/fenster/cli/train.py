"""`fenster train`."""

from __future__ import annotations

import sys
from pathlib import Path

from fenster.cli.options import Output, Overrides
from fenster.config import load
from fenster.configs import find_config
from fenster.io.progress import report


def train(
    config: Path,
    /,
    *,
    output: Output = None,
    data: Path | None = None,
    set_: Overrides = None,
) -> None:
    """Train a system on prepared data, or resume an earlier run.

    A run that was killed, stopped (Ctrl-C, SIGTERM) or ran out of time resumes with the same command. The best model
    so far is always in OUTPUT/model.

    Examples:

    ```
    fenster train toy
    fenster train europarl/window --set stop.minutes=9
    torchrun --nproc-per-node 4 -m fenster train europarl/window --set optimizer.batches=4
    ```

    Parameters
    ----------
    config
        A YAML file, or the name of a built-in configuration (`fenster configs`); `europarl/window` explains
        every key.
    output
        The run's folder, instead of the config's.
    data
        The prepared data, instead of the config's.
    set_
        Override a key: `--set model.dropout=0.1`; may be given several times.
    """
    from fenster.train.config import TrainConfig
    from fenster.train.trainer import train as run

    values = {key: value for key, value in (("output", output), ("data", data)) if value is not None}
    loaded = load(find_config(config, "train"), TrainConfig, set_ or (), values)
    card = loaded.card
    if data is not None and card.note is not None and not any(text.startswith("card.") for text in set_ or ()):
        report(
            f"the model card will say: {card.note}; licence {card.licence or 'not stated'}. If that is not true of "
            "this data: --set card.note=… --set card.licence=…"
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
