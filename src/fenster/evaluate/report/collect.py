"""The results that a report is made from."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fenster.errors import InputError
from fenster.evaluate.result import Kind, Result, is_result
from fenster.evaluate.system import System
from fenster.io.progress import bar

_SETTINGS = ("context", "positions", "alignment", "window", "focus", "beam", "precision", "int8")
_NUMERICS = ("precision", "int8")


@dataclass(frozen=True)
class Placed:
    """A result and its file, so that the files it names can be found."""

    result: Result
    path: Path
    family: str = ""
    """The system's name; the same for systems that differ only in their seed."""

    def files(self, key: str) -> list[Path]:
        """Those of a kind, if all still exist."""
        paths = [self.path.parent / name for name in self.result.files.get(key, ())]
        return paths if all(path.exists() for path in paths) else []


@dataclass(frozen=True)
class Collection:
    results: tuple[Placed, ...]
    skipped: tuple[Path, ...] = ()
    """JSON files in the folders that are not results."""

    def of(self, kind: Kind, test: str | None = None) -> list[Placed]:
        """Results of a kind in the order of the paper's tables."""
        return [
            placed for placed in self.results if placed.result.kind == kind and test in (None, placed.result.test)
        ]

    def tests(self) -> list[str]:
        """Test sets with translations, those of most systems first."""
        names = [placed.result.test for placed in self.of("translation")]
        return sorted(dict.fromkeys(names), key=lambda name: -names.count(name))


def collect(paths: Sequence[Path]) -> Collection:
    """Result files, and those in folders; the same result twice is one. Other JSON files in a folder are skipped."""
    results: dict[Path, Result] = {}
    skipped: list[Path] = []
    files = [(file, path.is_dir()) for path in paths for file in (_inside(path) if path.is_dir() else [path])]
    with bar("reading results", len(files)) as advance:
        for file, in_folder in files:
            if in_folder and not is_result(file):
                skipped.append(file)
            else:
                results[file.resolve()] = Result.read(file)
            advance(1)
    if not results:
        raise InputError("no result in this folder", path=paths[0], expected="JSON from `fenster evaluate` …")
    placed = _told_apart([Placed(result, path) for path, result in results.items()])
    return Collection(tuple(sorted(placed, key=lambda one: _rank(one.result))), tuple(skipped))


def _inside(folder: Path) -> list[Path]:
    return sorted([*folder.rglob("*.json"), *folder.rglob("*.json.xz")])


def _told_apart(placed: list[Placed]) -> list[Placed]:
    """Systems of one name with different settings get names of their own, and so do test sets of one name with
    different segments. What still looks the same is named by its folder."""
    groups: dict[tuple[str, ...], list[Placed]] = {}
    seeds: dict[str, set[int | None]] = {}
    for one in _tests_told_apart(placed):
        groups.setdefault(_who(one.result), []).append(one)
        seeds.setdefault(one.result.system.name, set()).add(one.result.system.seed)
    made: list[Placed] = []
    for group in groups.values():
        systems = [one.result.system for one in group]
        differ = [key for key in _SETTINGS if key not in _NUMERICS and _values(systems, key) > 1]
        # Numerical precision tells apart results of one training, but not trainings.
        differ += [
            key
            for key in _NUMERICS
            if any(_values([one for one in systems if one.seed == system.seed], key) > 1 for system in systems)
        ]
        for one in group:
            system = one.result.system
            family = _with_settings(system, differ)
            several = len(seeds[system.name]) > 1 and system.seed is not None
            name = _with_settings(system, [*differ, "seed"]) if several else family
            made.append(Placed(_renamed(one.result, name), one.path, family))
    return _by_folder(made)


def _values(systems: Sequence[System], key: str) -> int:
    return len({getattr(system, key) for system in systems})


def _with_settings(system: System, keys: Sequence[str]) -> str:
    extra = ", ".join(f"{key} {getattr(system, key)}" for key in keys)
    return f"{system.name} ({extra})" if extra else system.name


def _tests_told_apart(placed: list[Placed]) -> list[Placed]:
    sizes: dict[tuple[str, str], set[int]] = {}
    for one in placed:
        if one.result.kind in ("translation", "contrastive", "items"):
            sizes.setdefault((one.result.kind, one.result.test), set()).add(one.result.segments)
    made = []
    for one in placed:
        result = one.result
        if len(sizes.get((result.kind, result.test), ())) > 1:
            result = result.model_copy(update={"test": f"{result.test} ({result.segments:,} segments)"})
        made.append(Placed(result, one.path))
    return made


def _by_folder(placed: list[Placed]) -> list[Placed]:
    """Results that nothing else distinguishes get the part of their path in which they differ into their name."""
    alike: dict[tuple[str, ...], list[Placed]] = {}
    for one in placed:
        alike.setdefault(_who(one.result), []).append(one)
    made = []
    for group in alike.values():
        shared = Path(os.path.commonpath([one.path for one in group]))
        for one in group:
            name = one.result.system.name
            if len(group) > 1:
                inside = one.path.relative_to(shared)
                name += f" [{inside.parent if len(inside.parts) > 1 else inside.stem}]"
            made.append(Placed(_renamed(one.result, name), one.path, one.family))
    return made


def _renamed(result: Result, name: str) -> Result:
    return result.model_copy(update={"system": result.system.model_copy(update={"name": name})})


def _who(result: Result) -> tuple[str, ...]:
    return result.kind, result.test, result.variant, result.system.name, result.system.strategy or ""


def _rank(result: Result) -> tuple[int, int, float, str, str]:
    """Systems of others first, then sentence-level ones, then by window and size of context."""
    system = result.system
    size = math.inf if system.context_tokens is None else system.context_tokens
    windows = 0 if system.window is None else 1
    kind = 0 if system.attention is None else 1 if system.default_strategy == "sentence" else 2
    return kind, windows, size, system.name, system.strategy or ""


def item_sets(collection: Collection) -> list[str]:
    """Names of the item sets."""
    return list(dict.fromkeys(str(placed.result.extra.get("set")) for placed in collection.of("items")))


def amount(variant: str) -> tuple[bool, str]:
    """A key for the order of amounts of context."""
    return variant == "all", variant.zfill(4)


def label(result: Result) -> str:
    """A system as tables name it."""
    system = result.system
    return system.name or system.label or system.attention or ""


def main_strategy(results: Iterable[Placed]) -> list[Placed]:
    """For each system the search that fits it, which is what the paper reports."""
    chosen: dict[tuple[str, ...], Placed] = {}
    for placed in results:
        system = placed.result.system
        key = (placed.result.test, system.name, placed.result.variant)
        if key not in chosen or system.strategy == system.default_strategy:
            chosen[key] = placed
    return list(chosen.values())


def contrastive_sets(collection: Collection) -> list[str]:
    """Names of the contrastive test sets."""
    return list(dict.fromkeys(placed.result.test for placed in collection.of("contrastive")))


def system_names(results: Iterable[Placed]) -> list[str]:
    return list(dict.fromkeys(placed.result.system.name for placed in results))
