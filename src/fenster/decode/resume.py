"""Interrupted translations: a journal beside the output, which the same call resumes from.

The journal's first line is a stamp: a hash of everything that a translation depends on. Each further line is a
finished segment, written at once. A lock keeps two processes from writing one output.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from fenster import __version__
from fenster.decode.result import Translated
from fenster.errors import FensterError, writing
from fenster.io.hashing import unchanged_sha256
from fenster.io.lock import ProcessLock
from fenster.io.progress import report


class Journal:
    """The journal of a translation into `output`; use it as a context manager. None writes no journal."""

    def __init__(self, output: Path | None, stamp: str) -> None:
        self._output, self._stamp = output, stamp
        self._path = None if output is None else journal_path(output)
        self._stream: IO[str] | None = None
        self._lock: ProcessLock | None = None
        self._count = 0
        self.known: dict[int, list[Translated]] = {}
        """What an earlier call made of the first segments of each document."""

    def __enter__(self) -> Journal:
        if self._output is not None and self._path is not None:
            with writing(self._output):
                self._lock = _locked(self._path, self._output)
                self._stream = self._path.open("a", encoding="utf-8")
                self._resume(self._path, self._stream)
        return self

    def _resume(self, path: Path, stream: IO[str]) -> None:
        """Read what an earlier call with the same input and settings left, or start over."""
        records, size = _read(path)
        if records and records[0] == {"stamp": self._stamp}:
            for record in records[1:]:
                self.known.setdefault(record.pop("document"), []).append(_translated(record))
            self._count = len(records) - 1
            stream.truncate(size)
            report(f"resuming after {self._count:,} segments")
            return
        if path.stat().st_size:
            report("starting over: text, settings or model differ from those of the unfinished translation here")
        stream.truncate(0)
        stream.write(json.dumps({"stamp": self._stamp}) + "\n")
        stream.flush()

    def note(self, document: int, segment: Translated) -> None:
        """Keep a finished segment, in case this call is interrupted."""
        if self._stream is not None:
            self._stream.write(json.dumps({"document": document, **asdict(segment)}) + "\n")
            self._stream.flush()
            self._count += 1

    def remove(self) -> None:
        """The translation is complete: nothing is left to resume."""
        if self._path is not None and self._stream is not None:
            self._stream.close()
            self._path.unlink(missing_ok=True)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()
        if kind is not None and self._path is not None:
            if self._count:
                report(f"{self._count:,} segments are kept; the same command resumes")
            else:
                self._path.unlink(missing_ok=True)
        if self._lock is not None:
            self._lock.release(remove=True)


def journal_path(output: Path) -> Path:
    """Where the segments of an interrupted translation into `output` are kept."""
    return output.with_name(f".{output.name}.unfinished.jsonl")


def stamp(text: object, model: Path | None, settings: dict[str, Any]) -> str:
    """A hash of everything that a translation depends on: text, settings, the program, and the model itself (not its
    card)."""
    files = [] if model is None else sorted(path for path in model.iterdir() if path.is_file())
    hashes = [unchanged_sha256(path) for path in files if path.suffix != ".md"]
    digest = hashlib.sha256()
    for part in json.JSONEncoder(sort_keys=True, default=str).iterencode([text, settings, hashes, __version__]):
        digest.update(part.encode())
    return digest.hexdigest()


def _locked(journal: Path, output: Path) -> ProcessLock:
    journal.parent.mkdir(parents=True, exist_ok=True)
    lock = ProcessLock(journal.with_suffix(".lock"))
    try:
        free = lock.acquire()
    except FileNotFoundError:  # although its folder exists, as in /proc
        raise FensterError("no file can be created there", path=output, fix="choose another output") from None
    if not free:
        raise FensterError(
            "another process is already writing there", path=output, fix="wait for it, or choose another output"
        )
    return lock


def _read(journal: Path) -> tuple[list[dict[str, Any]], int]:
    """(the stamp and the finished segments of an earlier call, the bytes that they take)."""
    records, size = [], 0
    for line in journal.read_bytes().splitlines(keepends=True):
        try:
            record = json.loads(line)
        except ValueError:
            break  # cut short by a kill
        if not line.endswith(b"\n"):
            break
        records.append(record)
        size += len(line)
    return records, size


def _translated(record: dict[str, Any]) -> Translated:
    record["ids"] = tuple(record["ids"])
    record["warnings"] = tuple(record["warnings"])
    record["missed_terms"] = tuple(record["missed_terms"])
    record["alternatives"] = tuple((text, score) for text, score in record["alternatives"])
    return Translated(**record)
