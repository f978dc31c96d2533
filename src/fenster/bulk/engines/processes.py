"""Tasks on several processes: each loads the model once and takes the longest task that is left.

If a process dies (killed, out of memory), nothing else is lost: the tasks that were in progress are tried again, one
at a time. Files resume from their journals.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from fenster.bulk.task import TRIES, Task, death, longest_first
from fenster.decode.config import DecodeConfig
from fenster.decode.translator import Translator
from fenster.errors import FensterError
from fenster.io import progress
from fenster.io.machine import usual_threads
from fenster.io.progress import report

_translator: Translator | FensterError | None = None  # of a worker; or why it has none


class Processes:
    def __init__(self, count: int, folder: Path, config: DecodeConfig, device: str) -> None:
        """`count` processes, which share the free cores unless the settings give each a number of threads."""
        threads = config.threads or max(1, usual_threads() // count)
        self._count, self._arguments = count, (folder, config.model_copy(update={"threads": threads}), device)

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Any]]:
        left = longest_first(tasks)
        suspects: list[Task] = []  # were being translated when a process died: they go one by one
        deaths: Counter[Task] = Counter()
        while left:
            alone = suspects[:1]
            done: set[Task] = set()
            try:
                for task, outcome in _round(alone or left, 1 if alone else self._count, self._arguments):
                    done.add(task)
                    yield task, outcome
            except BrokenProcessPool:
                report("a worker died; its task will be retried")
                deaths.update(alone)
                suspects += [] if alone else [task for task in left if task not in done][: self._count]
            for task in [task for task in alone if deaths[task] == TRIES]:
                done.add(task)
                yield task, death(task)
            left = [task for task in left if task not in done]
            suspects = [task for task in suspects if task not in done]


def _round(
    tasks: Sequence[Task], count: int, arguments: tuple[Path, DecodeConfig, str]
) -> Iterator[tuple[Task, Any]]:
    context = multiprocessing.get_context("spawn")  # threads and GPUs do not survive a fork
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(min(count, len(tasks)), context, _load, arguments) as pool:
        try:
            _require_loading(pool)
            with _interrupts_held():
                futures = {pool.submit(_translate, task): task for task in tasks}
            while futures:
                for future in wait(futures, return_when=FIRST_COMPLETED).done:
                    task, outcome = futures.pop(future), future.result()
                    if isinstance(outcome, FensterError):
                        raise outcome
                    if not isinstance(outcome, str):
                        report(f"{len(tasks) - len(futures)} of {len(tasks)}: {task.name}")
                    yield task, outcome
        except BaseException:  # also Ctrl-C: nobody waits for what is half done
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _require_loading(pool: ProcessPoolExecutor) -> None:
    """An error if the model cannot be loaded: no file is to blame for that."""
    try:
        with _interrupts_held():
            loading = pool.submit(_load_error)
        error = loading.result()
    except BrokenProcessPool:
        error = FensterError(
            "a worker died while loading the model", fix="use fewer --workers: each needs memory for the model"
        )
    if error is not None:
        raise error


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits until the block has ended. Processes that start in it never get it: the parent ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _load(folder: Path, config: DecodeConfig, device: str) -> None:
    global _translator
    Thread(target=_end_with_parent, daemon=True).start()
    progress.console.quiet = True  # the parent says how far all of them are
    try:
        _translator = Translator.load(folder, config, device)
    except FensterError as error:  # raised here it would only break the pool
        _translator = error
    except Exception as error:
        _translator = FensterError(f"the model cannot be loaded ({error})")


def _end_with_parent() -> None:
    """A driver that is killed cannot end its workers, which would hold memory, and the locks of their files."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def _load_error() -> FensterError | None:
    return _translator if isinstance(_translator, FensterError) else None


def _translate(task: Task) -> Any:
    return task.run(_translator) if isinstance(_translator, Translator) else _translator
