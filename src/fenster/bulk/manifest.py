"""What is finished in an output folder, so that the same call resumes: one line per output.

Lines are kept in segments, small files that are written whole, because object stores cannot append to a file. At the
end all segments become one.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from fenster.errors import FensterError, InputError
from fenster.io import storage
from fenster.io.lock import ProcessLock

DEAD_LETTERS = "dead-letters"
WORK = ".fenster"
"""The folder inside the output that holds all but translations."""
_SECONDS = 1.0  # what was finished since the last segment is written after this long at most, with the next addition


@dataclass(frozen=True, slots=True)
class Entry:
    stamp: str
    """A hash of everything that the output depends on; "" while it is being made."""
    sha256: str = ""
    """Of what a shard holds, before it is compressed."""
    documents: int = 0
    dead: int = 0
    """Documents that could not be translated."""
    source: str = ""
    """Of a shard, what it was made from."""


class Manifest:
    """Use it as a context manager."""

    def __init__(self, output: str) -> None:
        self._folder = storage.joined(output, WORK, "manifest")
        self._segments = storage.listed(self._folder)
        self.entries: dict[str, Entry] = {}
        for segment in self._segments:
            self._read(storage.joined(self._folder, segment))
        self._next = 1 + max((int(segment[:8]) for segment in self._segments), default=0)
        self._waiting: dict[str, Entry] = {}
        self._written = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()
        if len(self._segments) > 1:
            self._write(self.entries)
            for segment in self._segments[:-1]:
                storage.removed(storage.joined(self._folder, segment))
            del self._segments[:-1]

    def get(self, name: str) -> Entry | None:
        return self.entries.get(name)

    def add(self, name: str, entry: Entry) -> None:
        self.entries[name] = self._waiting[name] = entry
        if time.monotonic() - self._written >= _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Everything added so far is kept, whatever happens."""
        if self._waiting:
            self._write(self._waiting)
            self._waiting = {}
        self._written = time.monotonic()

    def _write(self, entries: dict[str, Entry]) -> None:
        segment = f"{self._next:08}-{uuid.uuid4().hex[:8]}.jsonl"
        with storage.written(storage.joined(self._folder, segment)) as stream:
            for name, entry in entries.items():
                stream.write(json.dumps({"name": name, **asdict(entry)}, ensure_ascii=False).encode() + b"\n")
        self._segments.append(segment)
        self._next += 1

    def _read(self, segment: str) -> None:
        with storage.reading(segment) as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    record = json.loads(line)
                    name = record.pop("name")
                    self.entries[name] = Entry(**record)
                except (ValueError, TypeError, KeyError, AttributeError) as error:
                    raise InputError(
                        f"not an entry of a manifest ({error})",
                        path=segment,
                        line=number,
                        fix="remove the file: what it lists is translated again",
                    ) from None


@contextmanager
def locked(output: str) -> Iterator[None]:
    """Allow one driver per output folder on this machine; a store elsewhere cannot be locked."""
    if storage.is_url(output):
        yield
        return
    work = Path(output) / WORK
    work.mkdir(parents=True, exist_ok=True)
    lock = ProcessLock(work / "lock")
    if not lock.acquire():
        raise FensterError(
            "another process is already writing there", path=output, fix="wait for it, or choose another output"
        )
    try:
        yield
    finally:
        lock.release(remove=True)
