"""The processes of a run: one, or several under `torchrun`. Host-side numbers travel over gloo, so that asking for
them never waits for a GPU."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist

from fenster.errors import FensterError
from fenster.io.machine import find_device
from fenster.io.progress import report


@dataclass(frozen=True)
class World:
    rank: int
    ranks: int
    device: torch.device
    _control: dist.ProcessGroup | None = None

    @property
    def main(self) -> bool:
        """True if this process writes files and reports."""
        return self.rank == 0

    def sum(self, *values: float) -> list[float]:
        """Each value summed over all processes, exactly for token counts."""
        if self._control is None:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(tensor, group=self._control)
        return tensor.tolist()

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self._control is not None:
            dist.barrier(group=self._control)


@contextmanager
def join(device: str) -> Iterator[World]:
    """This process among the others, from the environment that torchrun sets; alone without it."""
    rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    kind = find_device(device)
    where = torch.device(kind)
    if kind == "cuda":
        local = int(os.environ.get("LOCAL_RANK", "0"))
        if local >= torch.cuda.device_count():
            raise FensterError(
                f"process {local} of this machine has no GPU",
                expected=f"at most {torch.cuda.device_count()} processes per machine",
                fix="lower --nproc-per-node",
            )
        where = torch.device("cuda", local)
        torch.cuda.set_device(where)
    if ranks == 1:
        yield World(rank, ranks, where)
        return
    if kind == "cpu" and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, torch.get_num_threads() // int(os.environ.get("LOCAL_WORLD_SIZE", ranks))))
    if rank == 0 and _may_hang_on_restart():
        report(
            "if a process dies, restarting may hang: start torchrun with TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 in its "
            "environment"
        )
    with _ended_by_signals():
        dist.init_process_group("nccl" if kind == "cuda" else "gloo")
    try:
        control = dist.group.WORLD if kind == "cpu" else dist.new_group(backend="gloo")
        yield World(rank, ranks, where, control)
    except RuntimeError as error:
        if not isinstance(error, dist.DistError) and "gloo" not in str(error):
            raise
        raise FensterError(
            f"another process of this training died ({str(error).splitlines()[0]})",
            fix="see its output; the same command resumes, and `torchrun --max-restarts N` does so by itself",
        ) from error
    finally:
        dist.destroy_process_group()


def _may_hang_on_restart() -> bool:
    """torchrun gives the processes of a node whose own process died another number of restarts than those of the
    others, and looks for them under that number in the store that its nodes share."""
    asked = os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0") != "0" and os.environ.get("GROUP_WORLD_SIZE", "1") != "1"
    return asked and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """A signal ends the process at once: while it waits for others inside torch, no handler of ours would run, and
    torchrun would wait in vain for it to stop."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    ours = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in ours:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
