"""What `fenster translate` does with folders, several files, and shards."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fenster.cli.options import Device, ModelOption
from fenster.decode.config import DecodeConfig
from fenster.errors import ConfigError, InputError, counted, first_of
from fenster.io.files import bare_suffix
from fenster.io.progress import report

if TYPE_CHECKING:
    from fenster.bulk.files import FolderSummary
    from fenster.bulk.job import ShardsSummary
    from fenster.bulk.task import Engine
    from fenster.decode.files import FileOptions

PART_SIZE = 250_000


@dataclass(frozen=True)
class Where:
    """What many documents are translated on."""

    workers: int | None
    ray: str | None
    device: Device
    part_size: int
    actors_per_gpu: int


def is_bulk(files: Sequence[str], *, workers: int | None, ray: str | None) -> bool:
    """True if the output is a folder: several inputs, a folder, shards, or several workers."""
    asked = workers is not None or ray is not None or len(files) > 1
    return asked or any("://" in one or Path(one).is_dir() or _is_pattern(one) or _is_shard(one) for one in files)


def _is_shard(name: str) -> bool:
    from fenster.decode.files import DOCUMENT_FORMATS

    suffix = bare_suffix(Path(name))
    if any(suffix in kind.suffixes for kind in DOCUMENT_FORMATS.values()):
        return False  # without what opens shards, which takes a while to import
    from fenster.bulk.shards import SHARD_FORMATS

    return any(suffix in kind.suffixes for kind in SHARD_FORMATS.values())


def translate_many(
    files: Sequence[str],
    output: str,
    model: ModelOption,
    decoding: DecodeConfig,
    options: FileOptions,
    where: Where,
) -> bool:
    """Translate files and shards into a folder; True if anything is to be checked."""
    from fenster.bulk.files import find_files, translate_files
    from fenster.bulk.find import find_shards
    from fenster.bulk.job import translate_shards
    from fenster.decode.translator import settings_of
    from fenster.io import storage

    if not files:
        raise ConfigError("--workers and --ray are for files, not for standard input", fix="name the files")
    if "-" in files:
        raise ConfigError("standard input cannot be combined with other files", fix="name the files")
    if output == "-":
        raise ConfigError("several files cannot be written to standard output", fix="give -o FOLDER")
    if not storage.is_url(output) and Path(output).is_file():
        raise ConfigError("is a file", path=output, expected="a new or existing folder", fix="give another with -o")
    if where.workers is not None and where.ray is not None:
        raise ConfigError("--workers and --ray cannot be combined", fix="give only one of them")
    local = [Path(name) for name in files if not storage.is_url(name) and not _is_pattern(name)]
    for name in files:
        if name.startswith("-"):
            raise ConfigError(f"{name} is not a file name", fix=f"check the options; such a file is ./{name}")
    for path in local:
        if not path.exists():
            raise InputError("no such file", path=path, fix="check the path and the current folder")
    made_with = (model.folder, settings_of(decoding))
    began = time.monotonic()
    output = storage.absolute(output)  # workers elsewhere may have another current folder
    files = [storage.absolute(name) for name in files]
    local = [path.absolute() for path in local]
    # First, since it says what is wrong with the folders.
    listed = [] if storage.is_url(output) else find_files(local, Path(output), options)
    listing = find_shards(files, output, options, made_with)
    tasks = [task for task in listed if storage.absolute(str(task.file)) not in listing.sources]
    # Links are reported with what else is left out of a folder.
    links = {one for one in listing.others if not storage.is_url(one) and Path(one).is_symlink()}
    others = set(listing.others) - {storage.absolute(str(task.file)) for task in tasks} - links
    if others:
        report(f"{counted(len(others), 'file')} skipped, not in a known document format: {first_of(sorted(others))}")
    if not listing.shards and not tasks and not listing.failed:
        raise InputError(
            "holds nothing to translate",
            path=files[0],
            expected="documents (.docx, .html, .txt …), or .parquet or .jsonl files of documents",
        )
    engine = _engine(model, decoding, where)
    to_check = False
    failed: list[str] = []
    if tasks:
        folder = translate_files(tasks, Path(output), engine, made_with)
        to_check = _report_files(folder, output, time.monotonic() - began)
        failed += map(str, folder.failed)
    if listing.shards or listing.failed:
        summary = translate_shards(listing, output, engine, where.part_size)
        to_check = _report_shards(summary, output) or to_check
        failed += summary.failed
    if failed:
        raise InputError(f"{counted(len(failed), 'file')} could not be translated: {'; '.join(failed)}", path=output)
    return to_check


def _engine(model: ModelOption, decoding: DecodeConfig, where: Where) -> Engine:
    if where.ray is not None:
        from fenster.bulk.engines.ray import RayCluster

        return RayCluster(where.ray, model.folder, decoding, where.device, where.actors_per_gpu)
    if where.workers is not None:
        from fenster.bulk.engines.processes import Processes

        return Processes(where.workers, model.folder, decoding, where.device)
    from fenster.bulk.engines.here import Here

    return Here(model.translator(decoding, where.device))


def _is_pattern(name: str) -> bool:
    """A pattern that the shell has left to us; a file may really be called so."""
    return any(character in name for character in "*?[") and not Path(name).exists()


def _report_files(summary: FolderSummary, output: str, seconds: float) -> bool:
    from fenster.decode.files.translate import report_summary

    for name, file in summary.translated.items():
        if file.warnings or file.remarks:
            report(f"{name}:")
            report_summary(file)
    counts = (
        f"{counted(len(summary.translated), 'file')} translated, {summary.unchanged} unchanged since the last time"
    )
    print(f"-> {output}: {counts}, {len(summary.copied)} copied, {len(summary.failed)} failed")
    segments = sum(file.segments for file in summary.translated.values())
    if segments:
        report(f"{segments:,} segments in {seconds:,.1f} s, {segments / seconds:,.1f} per second")
    if summary.copied:
        report(f"copied unchanged, since their formats are not translated: {first_of(summary.copied)}")
    return any(file.warnings for file in summary.translated.values())


def _report_shards(summary: ShardsSummary, output: str) -> bool:
    from fenster.decode.problems import PROBLEMS

    figures, seconds = summary.figures, summary.seconds
    counts = (
        f"{counted(len(summary.translated), 'shard')} translated, {summary.unchanged:,} unchanged since the last time"
    )
    print(f"-> {output}: {counts}, {len(summary.failed):,} failed; {figures.documents:,} documents")
    if figures.segments:
        rate = figures.segments / seconds
        report(f"{figures.segments:,} segments in {seconds:,.1f} s, {rate:,.1f} per second")
    for problem, explanation in PROBLEMS.items():
        if count := figures.warnings[problem]:
            report(f"{counted(count, 'document')} to check, {explanation} ({problem!r} in `warnings`)")
    if figures.dead:
        reasons = first_of(summary.dead_letters)
        report(f"{counted(figures.dead, 'document')} could not be translated; the reasons are in {reasons}")
    if summary.dead_before:
        report(f"{counted(summary.dead_before, 'document')} in unchanged shards had already failed in an earlier run")
    return bool(figures.dead or figures.warnings or summary.dead_before)
