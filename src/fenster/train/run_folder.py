"""A run's folder: its record (config, versions, data), log, checkpoints and models. Knows no torch, so that listing
runs is quick.

    config.yaml       the resolved configuration
    run.json          versions, git hash, data, command
    log.jsonl         one JSON object per line: kind train | valid | probe | start | stop
    checkpoints/      to resume from
    model/            the best model so far, as `fenster translate` loads it
    loss.png          the loss curve
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

from fenster import __version__
from fenster.data import manifest
from fenster.errors import FensterError, InputError, writing
from fenster.io.files import atomic_text
from fenster.io.lock import ProcessLock, is_held

Record = dict[str, Any]


class RunFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.config, self.record, self.log = path / "config.yaml", path / "run.json", path / "log.jsonl"
        self.checkpoints, self.model, self.snapshots = path / "checkpoints", path / "model", path / "snapshots"
        self.curve, self.lock = path / "loss.png", path / ".lock"

    @property
    def exists(self) -> bool:
        return self.record.is_file()

    def write_record(self, config: Record, data: Record) -> None:
        """Write what this run is, at each start, since versions may have changed."""
        with atomic_text(self.config) as out:
            yaml.safe_dump(config, out, sort_keys=False, allow_unicode=True)
        with atomic_text(self.record) as out:
            json.dump({**versions(), "command": sys.argv, "data": data}, out, indent=1, ensure_ascii=False)
            out.write("\n")

    def read_config(self) -> Record:
        try:
            config = yaml.safe_load(self.config.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise InputError(
                f"cannot be read ({error})", path=self.config, expected="a run's configuration"
            ) from None
        return config if isinstance(config, dict) else {}

    def entries(self, kind: str | None = None) -> list[Record]:
        """The log, oldest first. A last line that a kill truncated is skipped; it is written again on resuming."""
        if not self.log.is_file():
            return []
        entries = []
        for line in self.log.read_bytes().split(b"\n"):
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            whole = isinstance(entry, dict) and "kind" in entry and "update" in entry
            if whole and (kind is None or entry["kind"] == kind):
                entries.append(entry)
        return entries

    def rewind(self, update: int) -> None:
        """Drop what a run resuming from `update` will write again: later entries, and that of its end."""
        kept = [entry for entry in self.entries() if entry["update"] <= update and entry["kind"] != "stop"]
        with atomic_text(self.log) as out:
            out.writelines(json.dumps(entry, ensure_ascii=False) + "\n" for entry in kept)

    def append(self, entry: Record) -> None:
        with writing(self.log), self.log.open("a", encoding="utf-8") as out:
            out.write(json.dumps(entry, ensure_ascii=False) + "\n")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time, and never among prepared data."""
        if (self.path / manifest.NAME).exists():
            raise FensterError("is a folder of prepared data", path=self.path, fix="give the run another output")
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            lock = ProcessLock(self.lock)
            if not lock.acquire():
                raise FensterError(
                    "another process is training here", path=self.path, fix="wait for it, or choose another output"
                )
        try:
            yield
        finally:
            lock.release()

    def running(self) -> bool:
        """True if a process is training here."""
        return is_held(self.lock)


def versions() -> Record:
    """Versions, which could explain a difference between two runs."""
    packages = {}
    for name in ("torch", "numpy", "sentencepiece", "safetensors", "triton"):
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "fenster": __version__,
        "git": _git_hash(),
        "python": platform.python_version(),
        "packages": packages,
        "cpus": os.cpu_count(),
    }


def _git_hash() -> str | None:
    """Of the checkout that this code runs from, with + if it has changes; None outside one."""
    here = Path(__file__).parent
    ask = ["git", "-C", str(here), "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*"]
    try:
        described = subprocess.run(ask, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip() or None
