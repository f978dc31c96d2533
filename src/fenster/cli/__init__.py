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
from rich.console import Console
from rich.markup import escape

from fenster import __version__
from fenster.errors import FensterError

COMMANDS = {
    "translate": (
        "fenster.cli.translate:translate",
        "Translate files, folders, or standard input, each file as a document; or shards of many documents.",
    ),
    "import": (
        "fenster.cli.import_:import_corpus",
        "Convert a corpus to the house format (JSONL, one document per line) or to another.",
    ),
    "data": ("fenster.cli.data:app", "Inspect corpora and prepared data; generate test documents."),
    "configs": ("fenster.cli.configs:configs", "List the built-in configurations, or print one."),
    "prepare": (
        "fenster.cli.prepare:prepare",
        "Learn the tokenizer and turn raw documents into memory-mapped token ids.",
    ),
    "train": ("fenster.cli.train:train", "Train a system on prepared data, or resume an earlier run."),
    "runs": ("fenster.cli.runs:runs", "List training runs and show in which settings they differ."),
    "adapt": ("fenster.cli.adapt:adapt", "Fine-tune a model on your own translations."),
    "export": (
        "fenster.cli.export:export",
        "Write a model folder with smaller weights, in files of about 15 MB.",
    ),
    "serve": ("fenster.cli.serve:serve", "Translate over HTTP, for LibreTranslate's clients and others."),
    "score": (
        "fenster.cli.score:score",
        "Score the translations of a parallel corpus with a model: log-probabilities as JSONL, one object per "
        "sentence.",
    ),
    "evaluate": (
        "fenster.cli.evaluate:evaluate",
        "BLEU, TER, chrF, document BLEU, pronoun and formality F1 and consistency, with confidence intervals.",
    ),
    "contrapro": (
        "fenster.cli.contrapro:contrapro",
        "Contrastive accuracy: how often the true translation scores above all wrong ones.",
    ),
    "items": (
        "fenster.cli.items:items",
        "Translate items with 0, 1, 2, 4 and all preceding sentences given; expected form and formality F1 for each.",
    ),
    "distance": (
        "fenster.cli.distance:distance",
        "Accuracy on choices that depend on an earlier sentence, by the distance to it in sentences and words.",
    ),
    "attention": (
        "fenster.cli.attention:attention",
        "Share of cross-attention on the sentence being translated (the paper's Table 1), by layer and head.",
    ),
    "report": (
        "fenster.cli.report:report",
        "One page about many systems: the paper's tables with our figures, significance, plots and examples.",
    ),
    "reproduce": (
        "fenster.cli.reproduce:reproduce",
        "Prepare data, train systems, evaluate them and render one table of the paper.",
    ),
    "bench": ("fenster.bench.commands:app", "Measure speed and memory here, side by side in one run."),
}
"""The location of each command and the first sentence of its help, so that `fenster --help` imports none of them."""


def _make_app(*, summaries: bool) -> App:
    made = App(
        name="fenster",
        version=__version__,
        help="Document-level machine translation with window attention.\n\n"
        "`--debug` anywhere shows the traceback of an error.",
        help_format="markdown",
        suppress_keyboard_interrupt=False,
        default_parameter=Parameter(negative_iterable=()),
    )
    for name, (path, summary) in COMMANDS.items():
        made.command(path, name=name, help=summary if summaries else None)
    return made


app = _make_app(summaries=False)
_overview = _make_app(summaries=True)  # a summary that is given replaces a command's own help


def main(arguments: Sequence[str] | None = None) -> None:
    """The console entry point. Leaves signal handlers and streams as it found them."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in tokens
    tokens = [token for token in tokens if token != "--debug"]
    with _signals_as_exits(), _encodable_streams():
        _run(tokens, debug)


def _run(tokens: list[str], debug: bool) -> None:
    errors = Console(stderr=True, soft_wrap=True, highlight=False)

    def fail(message: str) -> None:
        if debug:
            traceback.print_exc()
        if os.environ.get("LOCAL_RANK", "0") == "0":  # torchrun starts several processes, which all fail alike
            errors.print(f"[bold red]error:[/] {escape(message)}")
        sys.exit(2)

    try:
        chosen = app if tokens and tokens[0] in COMMANDS else _overview
        chosen(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        from pydantic import ValidationError  # here, since `fenster --help` need not wait for it

        from fenster.config import describe_errors

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
        errors.print("[bold red]interrupted[/]; no partial output file was left behind")
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
            "  fix: wait until other programs release memory, or process less at a time"
        )
    except MemoryError:
        fail("out of memory\n  fix: wait until other programs release memory, or process less at a time")
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
