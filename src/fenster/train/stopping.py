"""When a run stops: its limits, signals that ask it to stop, and errors it cannot recover from."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fenster.errors import FensterError
from fenster.train.checkpoint import Progress
from fenster.train.config import StopConfig, TrainConfig
from fenster.train.inputs import Inputs

_SIGNALS = tuple(  # SIGUSR1: what Slurm can send early; Windows has neither it nor SIGHUP
    getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1") if hasattr(signal, name)
)


@contextmanager
def catch_signals() -> Iterator[list[int]]:
    """The signals that arrived while the block ran. The first is only recorded; a second one takes effect at once."""
    caught: list[int] = []
    # A signal that is ignored (nohup, background jobs of a script) stays ignored.
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    before = {number: handler for number, handler in handlers.items() if handler is not signal.SIG_IGN}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, _: object) -> None:
        caught.append(number)
        restore()

    try:
        for number in before:
            signal.signal(number, note)
        yield caught
    finally:
        restore()


def limit(stop: StopConfig, progress: Progress) -> str | None:
    """Why the run is finished; None if it is not."""
    if stop.updates is not None and progress.update >= stop.updates:
        return f"after {progress.update:,} updates (stop.updates)"
    if stop.epochs is not None and progress.epoch >= stop.epochs:
        return f"after {progress.epoch} epochs (stop.epochs)"
    if stop.minutes is not None and progress.seconds >= 60 * stop.minutes:
        return f"after {progress.seconds / 60:.1f} minutes (stop.minutes)"
    if stop.patience is not None and progress.waiting >= stop.patience:
        return f"{progress.waiting} validations without a better perplexity (stop.patience)"
    return None


def progress_share(stop: StopConfig, progress: Progress, epochs: float) -> float:
    """The share of the run that is done, by the limit that is nearest, after so many epochs."""
    shares = [0.0]
    if stop.updates is not None:
        shares.append(progress.update / stop.updates)
    if stop.epochs is not None:
        shares.append(epochs / stop.epochs)
    if stop.minutes is not None:
        shares.append(progress.seconds / (60 * stop.minutes))
    return max(shares)


def out_of_memory_error(batches: Sequence[Inputs], update: int, config: TrainConfig) -> FensterError:
    worst = max(batches, key=lambda inputs: inputs.source.tokens + inputs.target.tokens)
    return FensterError(
        f"out of memory at update {update:,}, in a batch of {len(worst.batch)} examples with "
        f"{worst.batch.source.tokens:,} source and {worst.batch.target.tokens:,} target tokens "
        f"(the longest has {max(worst.batch.source.longest, worst.batch.target.longest):,})",
        fix=f"lower batch.tokens (now {config.batch.tokens:,}) and raise optimizer.batches to match"
        + ("" if config.checkpointing == "layers" else ", or set checkpointing: ffn or layers"),
    )


def gradient_error(in_a_row: int, update: int) -> FensterError:
    return FensterError(
        f"the gradient of {in_a_row} updates in a row was NaN or infinite; none of them was applied. "
        f"The run stopped at update {update:,}",
        fix="start over in another output folder, with a lower optimizer.lr, a longer optimizer.warmup or "
        "optimizer.clip; if it happens at the very start, with precision: float32",
    )
