"""The command line, `fenster`. Commands only parse, call the library and print.

Errors of the user's making are printed without a traceback and end with exit code 2; `--debug` shows where
they came from.
"""

from __future__ import annotations

import io
import signal
import sys
import traceback
from collections.abc import Sequence

from cyclopts import App, CycloptsError
from rich.console import Console
from rich.markup import escape

from fenster import __version__
from fenster.cli import (
    bench,
    contrapro,
    convert,
    data,
    distance,
    evaluate,
    export,
    items,
    prepare,
    report,
    score,
    train,
    translate,
)
from fenster.errors import FensterError

app = App(
    name="fenster",
    version=__version__,
    help="Document-level machine translation with window attention.\n\n"
    "`--debug` anywhere shows the traceback of an error.",
    help_format="markdown",
    suppress_keyboard_interrupt=False,
)
app.command(convert.import_corpus, name="import")
app.command(data.app)
app.command(prepare.prepare)
app.command(train.train)
app.command(train.runs)
app.command(translate.translate)
app.command(export.export)
app.command(score.score)
app.command(evaluate.evaluate)
app.command(contrapro.contrapro)
app.command(items.items)
app.command(distance.distance)
app.command(distance.attention)
app.command(report.report)
app.command(bench.app)


def main(arguments: Sequence[str] | None = None) -> None:
    """The console entry point."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in tokens
    tokens = [token for token in tokens if token != "--debug"]
    errors = Console(stderr=True, soft_wrap=True, highlight=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 still gets its answer
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _terminated)
    try:
        app(tokens, exit_on_error=False, print_error=True, result_action="return_value")
    except CycloptsError:
        sys.exit(2)
    except FensterError as error:
        if debug:
            traceback.print_exc()
        errors.print(f"[bold red]error:[/] {escape(str(error))}")
        sys.exit(2)
    except KeyboardInterrupt:
        if debug:
            raise
        errors.print("[bold red]interrupted[/]; no file was left half-written")
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output (head, less) has seen enough.
        sys.stderr.close()
        sys.exit(0)
    except RuntimeError as error:
        from fenster.model.device import out_of_memory  # here, since not every command loads torch

        if not out_of_memory(error):
            raise
        if debug:
            traceback.print_exc()
        errors.print(
            f"[bold red]error:[/] {escape('. '.join(str(error).split('. ')[:2]))}\n"
            "  fix: wait until nothing else takes the memory, or lower what is computed at once"
        )
        sys.exit(2)
    except OSError as error:
        # The machine refused something outside our files, such as standard output on a full disk.
        if debug:
            traceback.print_exc()
        errors.print(f"[bold red]error:[/] {escape(str(error))} (--debug shows where)")
        sys.exit(2)


def _terminated(number: int, _: object) -> None:
    """Leave through every `finally`, so that nothing half-written stays behind."""
    sys.exit(128 + number)
