"""Which files are shards, and where their translations go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fenster.bulk.manifest import DEAD_LETTERS
from fenster.bulk.shard import Shard
from fenster.bulk.shards import shard_format
from fenster.bulk.shards.base import TEXT
from fenster.bulk.task import why
from fenster.decode.files.base import FileOptions
from fenster.decode.resume import stamp
from fenster.errors import ConfigError, FensterError, InputError
from fenster.io import storage


@dataclass(frozen=True)
class FoundShards:
    shards: list[Shard]
    failed: dict[str, str]
    """Files that cannot be read, by their names, and why."""
    sources: set[str]
    """All of these."""
    others: list[str]
    """Files that are not shards."""


def find_shards(
    inputs: Sequence[str], output: str, options: FileOptions, made_with: tuple[Path, dict[str, Any]]
) -> FoundShards:
    """The shards among some files, patterns and folders, and the names of their translations. Shards of a single
    folder keep their relative paths; with several inputs, each file or folder keeps its name. `made_with` is the
    model and all settings."""
    column, output = options.columns[0] if options.columns else TEXT, storage.absolute(output)
    shards: dict[str, Shard] = {}
    listing = FoundShards([], {}, set(), [])
    for given in inputs:
        files = storage.matching(given)
        if not files:
            if storage.is_folder(given):
                raise InputError("is an empty folder", path=given, expected="files to translate")
            raise InputError("no such file", path=given, fix="check the name")
        for source, name in zip(files, _names(given, files, alone=len(inputs) == 1), strict=True):
            if source.startswith(output + "/"):
                raise FensterError("is inside the output folder", path=source, fix="choose a folder beside it")
            try:
                kind = shard_format(source, column)
                version = "" if kind is None else storage.version_of(source)
            except Exception as error:
                listing.failed[name] = why(error, source)
                listing.sources.add(source)
                continue
            if kind is None:
                listing.others.append(source)
                continue
            if name in shards:
                raise ConfigError(
                    f"{shards[name].source} and {source} would both be written to {name}",
                    fix="translate them into two folders",
                )
            mark = stamp([name, version], made_with[0], {**made_with[1], **asdict(options)})
            shards[name] = Shard(source, output, name, kind, mark, column, options)
    listing.sources.update(shard.source for shard in shards.values())
    for shard in shards.values():
        if shard.target in listing.sources:
            raise FensterError("would overwrite an input file", path=shard.target, fix="choose another output folder")
        if shard.name.startswith(f"{DEAD_LETTERS}/"):
            raise ConfigError(
                "is reserved for faulty documents", path=shard.target, fix=f"rename the folder {DEAD_LETTERS}"
            )
    listing.shards.extend(shards.values())
    return listing


def _names(given: str, files: Sequence[str], *, alone: bool) -> list[str]:
    if not storage.is_folder(given):
        return [file.rsplit("/", 1)[-1] for file in files]
    folder = storage.absolute(given)
    prefix = "" if alone else folder.rsplit("/", 1)[-1] + "/"
    return [prefix + file.removeprefix(folder + "/") for file in files]
