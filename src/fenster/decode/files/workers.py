"""Files on several processes: each loads the model once and takes the longest file that is left.

A process that dies (killed, out of memory) takes nothing with it: files that were not finished are tried again by new
processes, and resume from their journals. A file over which processes died three times is reported as failed.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from fenster.decode.config import DecodeConfig
from fenster.decode.files import FileOptions
from fenster.decode.files.folder import FileTask, Outcome, Run, translate_task
from fenster.decode.translator import Translator
from fenster.errors import FensterError
from fenster.io import progress
from fenster.io.progress import report
from fenster.model.ops.threads import free_cores

_TRIES = 3
_translator: Translator | FensterError | None = None  # of a worker; or why it has none


def on_workers(count: int, folder: Path, config: DecodeConfig, device: str) -> Run:
    """Translate on `count` processes, which share the cores that are free unless the settings give each a number of
    threads."""
    threads = config.threads or max(1, free_cores() // count)
    arguments = (folder, config.model_copy(update={"threads": threads}), device)

    def run(tasks: Sequence[FileTask], options: FileOptions) -> Iterator[tuple[FileTask, Outcome]]:
        left = sorted(tasks, key=lambda task: task.file.stat().st_size, reverse=True)
        deaths: Counter[FileTask] = Counter()
        fruitless = 0  # rounds in a row
        while left:
            done: set[FileTask] = set()
            try:
                for task, outcome in _round(left, options, count, arguments):
                    done.add(task)
                    yield task, outcome
            except BrokenProcessPool:
                fruitless = 0 if done else fruitless + 1
                if fruitless == _TRIES:
                    raise FensterError(
                        f"workers died {_TRIES} times before any of them finished a file",
                        fix="take fewer --workers: each needs memory for the model",
                    ) from None
                left = [task for task in left if task not in done]
                # Any of those that were being translated may be the cause; the longest are taken first.
                deaths.update(left[:count])
                report(f"a worker died; {len(left)} file(s) are left, and resume from their journals")
                for task in [task for task in left if deaths[task] >= _TRIES]:
                    yield task, f"{task.file}: workers died over it {_TRIES} times, perhaps for want of memory"
                left = [task for task in left if deaths[task] < _TRIES]
            else:
                return

    return run


def _round(
    tasks: Sequence[FileTask], options: FileOptions, count: int, arguments: tuple[Path, DecodeConfig, str]
) -> Iterator[tuple[FileTask, Outcome]]:
    context = multiprocessing.get_context("spawn")  # threads and GPUs do not survive a fork
    with ProcessPoolExecutor(min(count, len(tasks)), context, _load, arguments) as pool:
        futures: dict[Future[Outcome], FileTask] = {pool.submit(_translate, task, options): task for task in tasks}
        try:
            while futures:
                for future in wait(futures, return_when=FIRST_COMPLETED).done:
                    task, outcome = futures.pop(future), future.result()
                    if not isinstance(outcome, str):
                        report(f"{len(tasks) - len(futures)} of {len(tasks)}: {task.file}")
                    yield task, outcome
        except BaseException:  # also Ctrl-C: nobody waits for files that are half done; their journals stay
            for worker in multiprocessing.active_children():
                worker.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _load(folder: Path, config: DecodeConfig, device: str) -> None:
    global _translator
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    progress.console.quiet = True  # and says how far all of them are
    try:
        _translator = Translator.load(folder, config, device)
    except FensterError as error:  # raised here it would only break the pool
        _translator = error


def _translate(task: FileTask, options: FileOptions) -> Outcome:
    if isinstance(_translator, FensterError):
        raise _translator
    assert _translator is not None
    return translate_task(_translator, task, options)
