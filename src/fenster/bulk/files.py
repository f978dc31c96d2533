"""Translate many files: every one in a known format, each a document of its own, into a folder.

Other files are copied. Names are kept, so that links between pages still work. A file that cannot be translated is
reported and left out, and the others are still translated. A list of finished files, and of what they were made from,
makes the same call resume after an interruption, and translate only what has changed since.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fenster.bulk.manifest import Entry, Manifest, locked
from fenster.bulk.task import Died, Engine, why
from fenster.decode.files import DOCUMENT_FORMATS, FileOptions, ParsedFile, document_format
from fenster.decode.files.translate import FileSummary, translate_parsed
from fenster.decode.files.unsupported import for_programs
from fenster.decode.resume import journal_path, stamp
from fenster.decode.translator import Translator
from fenster.errors import ConfigError, FensterError, InputError, counted, first_of
from fenster.io.files import FileSource, atomic_path, bare_suffix, check_not_input
from fenster.io.hashing import file_sha256
from fenster.io.progress import report


@dataclass(frozen=True)
class FileTask:
    """A file to translate into another. A task."""

    file: Path
    target: Path
    options: FileOptions

    @property
    def name(self) -> str:
        return str(self.file)

    @property
    def size(self) -> int:
        return self.file.stat().st_size

    def run(self, translator: Translator) -> FileSummary | str:
        """What was made, or why nothing was. Only errors of the output end the run: a full disk, say."""
        try:
            return translate_parsed(translator, _parsed(self.file, self.options), self.target, self.options)
        except (InputError, ConfigError) as error:
            return str(error)
        except (FensterError, OSError, MemoryError):
            raise
        except Exception as error:
            return why(error, self.name)


@dataclass
class FolderSummary:
    translated: dict[Path, FileSummary] = field(default_factory=dict)
    unchanged: int = 0
    """Files that an earlier call translated."""
    copied: list[Path] = field(default_factory=list)
    """Files in no known format, and those that only programs read."""
    failed: dict[Path, str] = field(default_factory=dict)
    """Files that could not be translated, and why."""


def find_files(inputs: Sequence[Path], output: Path, options: FileOptions) -> list[FileTask]:
    """The files among some files and folders, and the paths of their translations. Files of a single folder keep
    their relative paths; with several inputs, each file or folder keeps its name."""
    tasks: dict[Path, Path] = {}
    for given in inputs:
        if given.is_dir() and _overlap(given, output):
            raise FensterError("overlaps with an input folder", path=output, fix="choose a folder beside it")
        if not given.is_dir() and not given.is_file():
            raise InputError("no such file", path=given, fix="check the path and the current folder")
        if given.is_dir():
            folder = output if len(inputs) == 1 else output / given.resolve().name
            below = _Listing()
            below.add(given)
            listed = [(file, folder / file.relative_to(given)) for file in below.files]
            below.report_left_out()
        else:
            listed = [(given, output / given.name)]
        for file, target in listed:
            check_not_input(target, [file])
            if target in tasks:
                raise ConfigError(
                    f"{tasks[target]} and {file} would both be written to {target}",
                    fix="translate them into two folders",
                )
            tasks[target] = file
    return [FileTask(file, target, options) for target, file in tasks.items()]


def translate_files(
    tasks: Iterable[FileTask], output: Path, engine: Engine, made_with: tuple[Path | None, dict[str, Any]]
) -> FolderSummary:
    """Translate files into the folder `output`. `made_with` is the model and all settings: what was translated with
    others is translated again."""
    suffixes = {suffix for kind in DOCUMENT_FORMATS.values() for suffix in kind.suffixes}
    summary = FolderSummary()
    stamps: dict[Path, str] = {}
    waiting: list[FileTask] = []
    with locked(str(output)), Manifest(str(output)) as manifest:
        for task in tasks:
            name = task.target.relative_to(output)
            settings = {**made_with[1], "reading": str(task.options)}
            stamps[task.target] = stamp(file_sha256(task.file), made_with[0], settings)
            entry = manifest.get(name.as_posix())
            if entry is not None and entry.stamp == stamps[task.target] and task.target.is_file():
                summary.unchanged += 1
                continue
            if (
                (task.target.exists() or task.target.is_symlink())
                and entry is None
                and not journal_path(task.target).exists()
            ):
                raise FensterError(
                    "exists already, and was not made by this command",
                    path=task.target,
                    fix="choose another output folder, or remove it",
                )
            if bare_suffix(task.file) in suffixes and not for_programs(task.file.name):
                waiting.append(task)
                manifest.add(name.as_posix(), Entry(""))
                continue
            with atomic_path(task.target) as temporary:
                shutil.copyfile(task.file, temporary)
            summary.copied.append(name)
            manifest.add(name.as_posix(), Entry(stamps[task.target]))
        manifest.flush()  # from now on all targets are ours, whatever happens before they are finished
        for made, outcome in engine.run(waiting) if waiting else ():
            assert isinstance(made, FileTask)
            name = made.target.relative_to(output)
            if isinstance(outcome, FileSummary):
                summary.translated[name] = outcome
                manifest.add(name.as_posix(), Entry(stamps[made.target]))
            else:
                summary.failed[name] = outcome.reason if isinstance(outcome, Died) else outcome
                report(summary.failed[name])
    return summary


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


@dataclass
class _Listing:
    """The files of a folder in order, and what is left out of it."""

    files: list[Path] = field(default_factory=list)
    hidden: list[Path] = field(default_factory=list)
    """Also the lock files of office programs."""
    links: list[Path] = field(default_factory=list)
    unreadable: list[Path] = field(default_factory=list)
    """Folders."""

    def add(self, folder: Path) -> None:
        try:
            paths = sorted(folder.iterdir())
        except PermissionError:
            self.unreadable.append(folder)
            return
        for path in paths:
            if path.name.startswith((".", "~$")):
                self.hidden.append(path)
            elif path.is_symlink():
                self.links.append(path)
            elif path.is_dir():
                self.add(path)
            elif path.is_file():
                self.files.append(path)

    def report_left_out(self) -> None:
        left_out = (
            (self.hidden, "hidden file or folder", "hidden files and folders"),
            (self.links, "symbolic link", "symbolic links"),
            (self.unreadable, "folder that may not be read", "folders that may not be read"),
        )
        for paths, one, several in left_out:
            if paths:
                report(f"{counted(len(paths), one, several)} left out: {first_of(paths)}")
