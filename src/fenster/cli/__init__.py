"""The command line, `fenster`: commands parse their options, call the library and print.

Errors that a user can cause are printed without a traceback and end with exit code 2; `--debug` shows where they came
from.
"""

from __future__ import annotations

import difflib
import io
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cyclopts import App, CycloptsError, CycloptsPanel, Parameter
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape

from fenster import __version__
from fenster.cli import (
    adapt,
    attention,
    configs,
    contrapro,
    data,
    distance,
    evaluate,
    export,
    import_,
    items,
    prepare,
    report,
    runs,
    score,
    serve,
    train,
    translate,
)
from fenster.config import describe_errors
from fenster.errors import FensterError

app = App(
    name="fenster",
    version=__version__,
    help="Document-level machine translation with window attention.\n\n"
    "`--debug` anywhere shows the traceback of an error.",
    help_format="markdown",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative_iterable=()),
)
app.command(translate.translate)
app.command(import_.import_corpus, name="import")
app.command(data.app)
app.command(configs.configs)
app.command(prepare.prepare)
app.command(train.train)
app.command(runs.runs)
app.command(adapt.adapt)
app.command(export.export)
app.command(serve.serve)
app.command(score.score)
app.command(evaluate.evaluate)
app.command(contrapro.contrapro)
app.command(items.items)
app.command(distance.distance)
app.command(attention.attention)
app.command(report.report)
app.command("fenster.bench.commands:app", name="bench", help="Measure speed and memory, side by side with others.")

_ALIASES = {"--lanes": "--batch-size"}  # former names of options


def main(arguments: Sequence[str] | None = None) -> None:
    """The console entry point. Leaves signal handlers and streams as it found them."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in tokens
    tokens = [_current_name(token) for token in tokens if token != "--debug"]
    with _signals_as_exits(), _encodable_streams():
        _run(tokens, debug)


def _current_name(token: str) -> str:
    name, equals, value = token.partition("=")
    return _ALIASES.get(name, name) + equals + value


def _run(tokens: list[str], debug: bool) -> None:
    errors = Console(stderr=True, soft_wrap=True, highlight=False)

    def fail(message: str) -> None:
        if debug:
            traceback.print_exc()
        if os.environ.get("LOCAL_RANK", "0") == "0":  # torchrun starts several processes, which all fail alike
            errors.print(f"[bold red]error:[/] {escape(message)}")
        sys.exit(2)

    try:
        app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        if isinstance(error.__cause__, ValidationError):
            fail(describe_errors(error.__cause__, "the options"))
        unknown = _unknown_option(tokens)
        errors.print(CycloptsPanel(error if unknown is None else unknown))
        sys.exit(2)
    except FensterError as error:
        fail(str(error))
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
        from fenster.model.ops.device import out_of_memory  # here, since not every command loads torch

        if not out_of_memory(error):
            raise
        fail(
            f"{'. '.join(str(error).split('. ')[:2])}\n"
            "  fix: wait until nothing else uses the memory, or lower what is computed at once"
        )
    except OSError as error:
        # The operating system refused something outside our files, such as standard output on a full disk.
        fail(f"{error} (--debug shows where)")


def _unknown_option(tokens: Sequence[str]) -> str | None:
    """What to say of a misspelt option, which cyclopts may take for a file where one may come."""
    try:
        known = {name for argument in app[tokens[0]].assemble_argument_collection() for name in argument.names}
    except (KeyError, IndexError, ValueError):
        return None
    given = (token.partition("=")[0] for token in tokens[1:])
    unknown = next((name for name in given if name.startswith("--") and len(name) > 2 and name not in known), None)
    if unknown is None:
        return None
    near = difflib.get_close_matches(unknown, known, 1)
    return f"Unknown option: {unknown}." + (f" Did you mean {near[0]}?" if near else "")


@contextmanager
def _signals_as_exits() -> Iterator[None]:
    """SIGTERM and SIGHUP leave through every `finally`, so that nothing half-written stays behind."""
    before = {}
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # ignored under nohup
            before[number] = signal.signal(number, _exit)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit(number: int, _: object) -> None:
    sys.exit(128 + number)


@contextmanager
def _encodable_streams() -> Iterator[None]:
    """A terminal without UTF-8 still gets its answer."""
    streams = [stream for stream in (sys.stdout, sys.stderr) if isinstance(stream, io.TextIOWrapper)]
    before = [stream.errors for stream in streams]
    for stream in streams:
        stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        for stream, errors in zip(streams, before, strict=True):
            if not stream.closed:
                stream.reconfigure(errors=errors)
