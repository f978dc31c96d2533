"""When a run ends."""

from __future__ import annotations

from fenster.train.checkpoint import Progress
from fenster.train.config import StopConfig


def limit(stop: StopConfig, progress: Progress) -> str | None:
    """Why the run is finished, if it is."""
    if stop.updates is not None and progress.update >= stop.updates:
        return f"after {progress.update:,} updates (stop.updates)"
    if stop.epochs is not None and progress.epoch >= stop.epochs:
        return f"after {progress.epoch} epochs (stop.epochs)"
    if stop.minutes is not None and progress.seconds >= 60 * stop.minutes:
        return f"after {progress.seconds / 60:.1f} minutes (stop.minutes)"
    if stop.patience is not None and progress.waiting >= stop.patience:
        return f"{progress.waiting} validations without a better perplexity (stop.patience)"
    return None


def share_done(stop: StopConfig, progress: Progress, batches: int) -> float:
    """The share of the run that lies behind, by the limit that is nearest; epochs have `batches` batches."""
    shares = [0.0]
    if stop.updates is not None:
        shares.append(progress.update / stop.updates)
    if stop.epochs is not None:
        shares.append((progress.epoch + progress.batch / batches) / stop.epochs)
    if stop.minutes is not None:
        shares.append(progress.seconds / (60 * stop.minutes))
    return max(shares)
