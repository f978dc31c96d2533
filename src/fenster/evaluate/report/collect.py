"""The results that a report is made from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fenster.errors import InputError
from fenster.evaluate.result import Kind, Result

_ATTENTION = ("sentence", "full", "lst", "window")
_NAMES = {"sentence": "sentence-level", "full": "concat", "lst": "LST", "window": "window"}


@dataclass(frozen=True)
class Placed:
    """A result and where it lies, so that the files it names can be found."""

    result: Result
    path: Path

    def file(self, key: str) -> Path | None:
        name = self.result.files.get(key)
        found = None if name is None else self.path.parent / name
        return found if found is not None and found.exists() else None


@dataclass(frozen=True)
class Collection:
    results: tuple[Placed, ...]

    def of(self, kind: Kind, test: str | None = None) -> list[Placed]:
        """Results of a kind in the order of the paper's tables."""
        return [each for each in self.results if each.result.kind == kind and test in (None, each.result.test)]

    def tests(self) -> list[str]:
        """Test sets with translations, those of most systems first."""
        names = [each.result.test for each in self.of("translation")]
        return sorted(dict.fromkeys(names), key=lambda name: -names.count(name))


def collect(paths: Sequence[Path]) -> Collection:
    """Result files, and those in folders; the same result twice is one."""
    found: dict[Path, Result] = {}
    for path in paths:
        if path.is_dir():
            inside = sorted(path.rglob("*.json"))
            if not inside:
                raise InputError("no result in this folder", path=path, expected="JSON from `fenster evaluate` …")
            found.update({each.resolve(): Result.read(each) for each in inside})
        else:
            found[path.resolve()] = Result.read(path)
    placed = [Placed(result, path) for path, result in found.items()]
    return Collection(tuple(sorted(placed, key=lambda each: _rank(each.result))))


def _rank(result: Result) -> tuple[int, float, str, str]:
    system = result.system
    kind = _ATTENTION.index(system.attention) if system.attention in _ATTENTION else -1
    return kind, context_size(system.context), system.name, system.strategy or ""


def context_size(context: str | None) -> float:
    """For order and plots: sentences count as 25 tokens."""
    number, _, unit = (context or "").partition(" ")
    if not number.isdecimal():
        return float("inf") if context else -1.0
    return float(number) * (25 if unit.startswith("sent") else 1)


def label(result: Result) -> str:
    """A system as tables name it."""
    system = result.system
    if system.attention is None:
        return system.name
    plain = f"{_NAMES.get(system.attention, system.attention)}"
    return system.name if system.name not in ("", plain) else plain


def main_strategy(results: Iterable[Placed]) -> list[Placed]:
    """For each system the search that the paper reports: sequential for windows, full-segment for the others."""
    chosen: dict[tuple[str, ...], Placed] = {}
    for each in results:
        system = each.result.system
        wanted = {"window": "sequential", "sentence": "sentence"}.get(system.attention or "", "full-segment")
        key = (each.result.test, each.result.system.name, each.result.variant)
        if key not in chosen or system.strategy == wanted:
            chosen[key] = each
    return list(chosen.values())
