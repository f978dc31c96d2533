"""Translate many files: every one in a known format, each a document of its own, into a folder.

Other files are copied. Names are kept, so that links between pages still work. A file that cannot be translated is
reported and left out, and the others are still translated. A list of finished files, and of what they were made from,
makes the same call resume after an interruption, and translate only what has changed since.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from fenster.decode.files import DOCUMENT_FORMATS, FileOptions, ParsedFile, document_format
from fenster.decode.files.translate import FileSummary, translate_parsed
from fenster.decode.resume import journal_path, stamp
from fenster.decode.translator import Translator
from fenster.errors import ConfigError, FensterError, InputError
from fenster.io.files import FileSource, atomic_path, bare_suffix, check_not_input
from fenster.io.hashing import file_sha256
from fenster.io.progress import report

FINISHED = ".fenster-finished.jsonl"


class FileTask(NamedTuple):
    """A file to translate into another."""

    file: Path
    target: Path


Outcome = FileSummary | str
"""What was made, or why nothing was."""
Run = Callable[[Sequence[FileTask], FileOptions], Iterator[tuple[FileTask, Outcome]]]
"""Translates files, in any order; yields each as soon as it is ready."""


@dataclass
class FolderSummary:
    translated: dict[Path, FileSummary] = field(default_factory=dict)
    unchanged: int = 0
    """Files that an earlier call translated."""
    copied: list[Path] = field(default_factory=list)
    """Files in no known format."""
    failed: dict[Path, str] = field(default_factory=dict)
    """Files that could not be translated, and why."""


def find_files(inputs: Sequence[Path], output: Path) -> list[FileTask]:
    """The files of some files and folders, and where their translations go. Those of a single folder keep their
    places; of several inputs each file or folder keeps its name."""
    tasks: dict[Path, Path] = {}
    for given in inputs:
        if given.is_dir() and _overlap(given, output):
            raise FensterError("is inside the other folder", path=output, fix="choose a folder beside it")
        if not given.is_dir() and not given.is_file():
            raise InputError("no such file", path=given, fix="check the path and the current folder")
        if given.is_dir():
            folder = output if len(inputs) == 1 else output / given.resolve().name
            listed = [(file, folder / file.relative_to(given)) for file in _files(given)]
        else:
            listed = [(given, output / given.name)]
        for file, target in listed:
            check_not_input(target, [file])
            if target in tasks:
                raise ConfigError(f"{tasks[target]} and {file} would both be {target}", fix="use two calls")
            tasks[target] = file
    return [FileTask(file, target) for target, file in tasks.items()]


def translate_files(
    tasks: Iterable[FileTask],
    output: Path,
    options: FileOptions,
    run: Run,
    made_with: tuple[Path | None, dict[str, Any]],
) -> FolderSummary:
    """Translate files into the folder `output`. `made_with` is the model and all settings: what was translated with
    others is translated again."""
    suffixes = {suffix for kind in DOCUMENT_FORMATS.values() for suffix in kind.suffixes}
    finished, summary = _finished(output), FolderSummary()
    marks: dict[Path, str] = {}
    waiting: list[FileTask] = []
    for task in tasks:
        name = task.target.relative_to(output)
        settings = {**made_with[1], "reading": str(options)}
        marks[task.target] = stamp(file_sha256(task.file), made_with[0], settings)
        if finished.get(name.as_posix()) == marks[task.target] and task.target.is_file():
            summary.unchanged += 1
            continue
        if task.target.exists() and name.as_posix() not in finished and not journal_path(task.target).exists():
            raise FensterError(
                "exists already, and was not made by this command",
                path=task.target,
                fix="choose another output folder, or remove it",
            )
        if bare_suffix(task.file) in suffixes:
            waiting.append(task)
        else:
            with atomic_path(task.target) as temporary:
                shutil.copyfile(task.file, temporary)
            summary.copied.append(name)
            _note(output, name.as_posix(), marks[task.target])
    for task in waiting:  # from now on their targets are ours, whatever happens before they are finished
        _note(output, task.target.relative_to(output).as_posix(), "")
    for task, outcome in run(waiting, options):
        name = task.target.relative_to(output)
        if isinstance(outcome, str):
            summary.failed[name] = outcome
            report(outcome)
            continue
        summary.translated[name] = outcome
        _note(output, name.as_posix(), marks[task.target])
    return summary


def one_by_one(translator: Translator) -> Run:
    """All files here, in order."""

    def run(tasks: Sequence[FileTask], options: FileOptions) -> Iterator[tuple[FileTask, Outcome]]:
        for number, task in enumerate(tasks, start=1):
            report(f"{number} of {len(tasks)}: {task.file}")
            yield task, translate_task(translator, task, options)

    return run


def translate_task(translator: Translator, task: FileTask, options: FileOptions) -> Outcome:
    try:
        return translate_parsed(translator, _parsed(task.file, options), task.target, options)
    except (InputError, ConfigError) as error:
        return str(error)


def _overlap(one: Path, other: Path) -> bool:
    one, other = one.resolve(), other.resolve()
    return one.is_relative_to(other) or other.is_relative_to(one)


def _parsed(file: Path, options: FileOptions) -> ParsedFile:
    """A table without the columns that were named is read as if none were."""
    kind, source = document_format(None, file), FileSource.read(file)
    try:
        return kind.parse(source, options)
    except ConfigError:
        if not options.columns:
            raise
        return kind.parse(source, replace(options, columns=()))


def _files(folder: Path) -> Iterator[Path]:
    """In order; hidden ones and links to elsewhere are left out."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.is_file():
            yield path


def _finished(output: Path) -> dict[str, str]:
    """By name, what each finished file was made from; a line that a kill cut short is not counted."""
    listed: dict[str, str] = {}
    path = output / FINISHED
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if text and not text.endswith("\n"):
        with path.open("a", encoding="utf-8") as stream:
            stream.write("\n")
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        listed[record["file"]] = record["stamp"]
    return listed


def _note(output: Path, name: str, mark: str) -> None:
    output.mkdir(parents=True, exist_ok=True)
    with (output / FINISHED).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"file": name, "stamp": mark}, ensure_ascii=False) + "\n")
