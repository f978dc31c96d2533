"""Translate shards: plan parts, let an engine run them, assemble shards as their parts are finished, and resume.

Whatever dies, the same call resumes: finished shards are in the manifest, finished parts of others are files. A shard
is in the manifest after its translation is complete, and its parts are removed after that.
"""

from __future__ import annotations

import time
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from fenster.bulk.find import FoundShards
from fenster.bulk.manifest import WORK, Entry, Manifest, locked
from fenster.bulk.part import Part, PartOutcome
from fenster.bulk.shard import Figures, Shard, assembled
from fenster.bulk.shards.base import ALL, Extent
from fenster.bulk.task import Died, Engine, why
from fenster.errors import FensterError
from fenster.io import storage
from fenster.io.progress import bar, report

_MOST_COMPRESSION = 5  # bytes of text per byte of a file, by and large


@dataclass
class ShardsSummary:
    translated: list[str] = field(default_factory=list)
    """Names of shards."""
    unchanged: int = 0
    """Shards that an earlier call translated."""
    dead_before: int = 0
    """Documents of those that could not be translated."""
    figures: Figures = field(default_factory=Figures)
    seconds: float = 0.0
    dead_letters: list[str] = field(default_factory=list)
    """Files of documents that could not be translated."""
    failed: dict[str, str] = field(default_factory=dict)
    """Shards that could not be read or written, and why."""


def translate_shards(listing: FoundShards, output: str, engine: Engine, part_size: int) -> ShardsSummary:
    output = storage.absolute(output)
    summary, began = ShardsSummary(failed=dict(listing.failed)), time.monotonic()
    for reason in listing.failed.values():
        report(reason)
    with locked(output), Manifest(output) as manifest:
        there = set(storage.matching(output)) if storage.is_folder(output) else set()
        waiting = []
        for shard in listing.shards:
            if _is_finished(shard, manifest, there):
                summary.unchanged += 1
                summary.dead_before += manifest.entries[shard.name].dead
            else:
                waiting.append(shard)
        for shard in waiting:  # from now on their targets are ours
            manifest.add(shard.name, Entry("", source=shard.source))
        manifest.flush()
        _Job(waiting, output, manifest, engine, summary, part_size).run()
        if not summary.failed:
            for folder in ("parts", "temporary"):
                storage.removed(storage.joined(output, WORK, folder))
    summary.seconds = time.monotonic() - began
    return summary


class _Job:
    def __init__(
        self,
        shards: Sequence[Shard],
        output: str,
        manifest: Manifest,
        engine: Engine,
        summary: ShardsSummary,
        part_size: int,
    ) -> None:
        self._manifest, self._engine, self._summary = manifest, engine, summary
        self._begun = set(storage.listed(storage.joined(output, WORK, "parts")))  # by their stamps
        self._parts: dict[str, list[Part]] = {}  # of each shard under way
        for shard in shards:
            try:
                self._parts[shard.name] = _parts(shard, part_size)
            except Exception as error:
                self._fail(shard, why(error, shard.source))
        self._open = {name: len(parts) for name, parts in self._parts.items()}

    def run(self) -> None:
        tasks: list[Part] = []
        for parts in self._parts.values():
            tasks += self._unfinished(parts)
        while tasks:
            again: list[Part] = []
            with bar("translating", sum(part.size for part in tasks)) as advance:
                for part, outcome in self._engine.run(tasks):
                    assert isinstance(part, Part)
                    again += self._settled(part, outcome)
                    advance(part.size)
            tasks = again

    def _unfinished(self, parts: Sequence[Part]) -> list[Part]:
        """Take those that an earlier call finished; the others."""
        have = set(storage.listed(parts[0].shard.parts)) if parts[0].shard.stamp in self._begun else set()
        finished = {part for part in parts if part.file.rsplit("/", 1)[-1] in have}
        for part in parts:
            if part in finished:
                self._settled(part, part.taken())
        if finished:
            report(f"{parts[0].shard.source}: resuming after {len(finished)} of {len(parts)} parts")
        return [part for part in parts if part not in finished]

    def _settled(self, part: Part, outcome: PartOutcome | Died | str) -> list[Part]:
        """Take what came of a part; returns what is to be tried instead."""
        if isinstance(outcome, PartOutcome):
            self._take(part, outcome)
        elif isinstance(outcome, str):
            self._fail(part.shard, outcome)
        elif halves := part.halves():
            report(f"{outcome.reason}; splitting it in two and retrying")
            self._replace(part, halves)
            return halves
        else:
            report(f"{outcome.reason}; skipping it")
            part.give_up(outcome.reason)
            return self._settled(part, part.taken())
        return []

    def _take(self, part: Part, outcome: PartOutcome) -> None:
        shard, summary = part.shard, self._summary
        summary.figures.add(outcome.figures)
        self._open[shard.name] -= 1
        if self._open[shard.name] or shard.name in summary.failed:
            return
        try:
            parts = sorted(self._parts[shard.name], key=lambda one: one.extent.first)
            entry = outcome.entry or assembled(shard, [one.file for one in parts])
        except Exception as error:
            self._fail(shard, why(error, shard.source))
            return
        self._manifest.add(shard.name, entry)
        summary.translated.append(shard.name)
        if entry.dead:
            summary.dead_letters.append(shard.dead_letters)

    def _replace(self, part: Part, halves: Sequence[Part]) -> None:
        parts = self._parts[part.shard.name]
        parts[parts.index(part) : parts.index(part) + 1] = halves
        self._open[part.shard.name] += len(halves) - 1

    def _fail(self, shard: Shard, reason: str) -> None:
        if shard.name not in self._summary.failed:
            self._summary.failed[shard.name] = reason
            report(reason)


def _parts(shard: Shard, part_size: int) -> list[Part]:
    """Without a part size, and for small files, a shard is one part, and is not read here."""
    size = storage.size_of(shard.source)
    if not part_size or size * _MOST_COMPRESSION <= part_size:
        return [Part(shard, Extent(0, ALL, size), is_whole=True)]
    extents = shard.reader.extents(shard.source, part_size) or [Extent(0, ALL, 0)]
    return [Part(shard, extent, is_whole=len(extents) == 1) for extent in extents]


def _is_finished(shard: Shard, manifest: Manifest, outputs: Container[str]) -> bool:
    entry, there = manifest.get(shard.name), shard.target in outputs
    if there and (entry is None or entry.source != shard.source):
        made = "was not made by this command" if entry is None else f"was made from {entry.source or 'another file'}"
        raise FensterError(
            f"exists already, and {made}", path=shard.target, fix="choose another output folder, or remove it"
        )
    return there and entry is not None and entry.stamp == shard.stamp
