"""Translate a folder: every file in a known format, each a document of its own, into a folder of the same shape.

Other files are copied. Names are kept, so that links between pages still work. A file that cannot be translated is
reported and left out, and the others are still translated. A list of finished files, and of what they were made from,
makes the same call resume after an interruption, and translate only what has changed since.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from fenster.decode.files import DOCUMENT_FORMATS, FileOptions, ParsedFile, document_format
from fenster.decode.files.translate import FileSummary, translate_parsed
from fenster.decode.resume import journal_path, stamp
from fenster.decode.translator import Translator
from fenster.errors import ConfigError, FensterError, InputError
from fenster.io.files import FileSource, atomic_path, bare_suffix
from fenster.io.hashing import file_sha256
from fenster.io.progress import report

FINISHED = ".fenster-finished.jsonl"


@dataclass
class FolderSummary:
    translated: dict[Path, FileSummary] = field(default_factory=dict)
    unchanged: int = 0
    """Files that an earlier call translated."""
    copied: list[Path] = field(default_factory=list)
    """Files in no known format."""
    failed: dict[Path, str] = field(default_factory=dict)
    """Files that could not be translated, and why."""


def translate_folder(translator: Translator, folder: Path, output: Path, options: FileOptions) -> FolderSummary:
    """Translate the files of a folder, and of folders in it, into `output`."""
    if output.resolve().is_relative_to(folder.resolve()) or folder.resolve().is_relative_to(output.resolve()):
        raise FensterError("is inside the other folder", path=output, fix="choose a folder beside it")
    suffixes = {suffix for kind in DOCUMENT_FORMATS.values() for suffix in kind.suffixes}
    finished = _finished(output)
    summary = FolderSummary()
    files = list(_files(folder))
    for number, file in enumerate(files, start=1):
        name = file.relative_to(folder)
        target = output / name
        mark = stamp(file_sha256(file), translator.loaded.folder, {**translator.settings(), "reading": str(options)})
        if finished.get(name.as_posix()) == mark and target.is_file():
            summary.unchanged += 1
            continue
        if target.exists() and name.as_posix() not in finished and not journal_path(target).exists():
            raise FensterError(
                "exists already, and was not made by this command",
                path=target,
                fix="choose another output folder, or remove it",
            )
        if bare_suffix(file) not in suffixes:
            with atomic_path(target) as temporary:
                shutil.copyfile(file, temporary)
            summary.copied.append(name)
        else:
            report(f"{number} of {len(files)}: {name}")
            try:
                parsed = _parsed(file, options)
                summary.translated[name] = translate_parsed(translator, parsed, target, options)
            except (InputError, ConfigError) as error:
                summary.failed[name] = str(error)
                report(str(error))
                continue
        _note(output, name.as_posix(), mark)
    return summary


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
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        listed[record["file"]] = record["stamp"]
    return listed


def _note(output: Path, name: str, mark: str) -> None:
    with (output / FINISHED).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"file": name, "stamp": mark}, ensure_ascii=False) + "\n")
