"""What a run reports while it runs: a live line for people, JSONL for programs, TensorBoard on request."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from fenster.errors import FensterError
from fenster.io.progress import console
from fenster.train.run_folder import Record, RunFolder


class RunLogger:
    """One run's log; in processes other than the main one it is `quiet`."""

    def __init__(self, folder: RunFolder, *, tensorboard: bool, quiet: bool) -> None:
        self._folder, self._quiet = folder, quiet
        self._board: Any = _board(folder) if tensorboard and not quiet else None
        self._valid = ""
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("eta"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._task = self._progress.add_task("starting", total=1.0)

    def __enter__(self) -> RunLogger:
        self._progress.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._progress.stop()
        if self._board is not None:
            self._board.close()

    def say(self, text: str) -> None:
        """A line that stays."""
        if not self._quiet:
            console.print(text, highlight=False, soft_wrap=True, markup=False)

    def write(self, entry: Record, done: float | None = None) -> None:
        """Log an entry everywhere; `done` is the share of the run that is done."""
        if self._quiet:
            return
        self._folder.append(entry)
        if self._board is not None:
            for name, value in entry.items():
                if isinstance(value, int | float) and name != "update":
                    self._board.add_scalar(f"{entry['kind']}/{name}", value, entry["update"])
        text = _line(entry)
        if entry["kind"] == "valid":
            self._valid = f"  valid ppl {entry['perplexity']:.3f}"
        if entry["kind"] != "train" or not console.is_terminal:
            self.say(text)
        if entry["kind"] == "train":
            self._progress.update(self._task, description=text + self._valid)
        if done is not None:
            self._progress.update(self._task, completed=min(done, 1.0))


def _line(entry: Record) -> str:
    head = f"update {entry['update']:,}"
    if entry["kind"] == "train":
        skipped = f"  skipped {entry['skipped']}" if entry["skipped"] else ""
        losses = (
            "all skipped" if entry["loss"] is None else f"loss {entry['loss']:.3f}  ppl {entry['perplexity']:.2f}"
        )
        return (
            f"epoch {entry['epoch']:.2f}  {head}  {losses}  "
            f"lr {entry['lr']:.2e}  {entry['tokens_per_second']:,.0f} tok/s{skipped}"
        )
    if entry["kind"] == "valid":
        best = "  (best so far)" if entry["best"] else f"  ({entry['waiting']} since the best)"
        return (
            f"{head}  valid perplexity {entry['perplexity']:.4f} "
            f"(without end symbols {entry['perplexity_inside']:.4f}){best}"
        )
    if entry["kind"] == "probe":
        return (
            f"{head}  cross-attention on the current sentence {100 * entry['share']:.1f} %, "
            f"last layer {100 * entry['share_last_layer']:.1f} %"
        )
    return f"{head}  {entry['kind']}: {entry['text']}"


def _board(folder: RunFolder) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise FensterError("log.tensorboard needs TensorBoard", fix="pip install tensorboard") from None
    return SummaryWriter(str(folder.path / "tensorboard"))
