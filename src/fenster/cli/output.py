"""Where `fenster translate` writes: line by line as it is ready, and so that an interrupted call can go on."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fenster.corpus.files import atomic_path, compressed, lock
from fenster.errors import FensterError, writing
from fenster.manifest import file_sha256
from fenster.progress import console as stderr

if TYPE_CHECKING:
    from fenster.decode.result import Translated

_STANDARD = (Path("/dev/stdout"), Path("/dev/fd/1"))  # names of standard output

Segment = dict[str, Any]
"""A translated segment: line, source, target, ids, score, capped, seconds, alternatives."""


class Output:
    """Where translations go, line by line as they are ready. With a file, what is done is kept beside it until the
    whole is written, so that the same command can go on."""

    def __init__(self, path: Path | None, format: str, nbest: int, stamp: str) -> None:
        path = None if path in _STANDARD else path
        self._path, self._format, self._nbest = path, format, nbest
        if path is not None and (not path.name or path.is_dir()):
            raise FensterError("is a folder", path=path, expected="the name of a file to write")
        ordinary = path is not None and (path.is_file() or not path.exists())  # not a pipe
        self._journal = unfinished(path) if path is not None and ordinary else None
        self._known: list[Segment] = []
        self._line: list[Segment] = []
        self._text: list[str] = []
        self._stamp, self._kept = stamp, 0
        self._stream: IO[str] | None = None

    def __enter__(self) -> Output:
        if self._path is not None and self._journal is not None:
            with writing(self._path):
                self._stream = _alone(self._journal, self._path)
                self._go_on(self._journal, self._stream)
        return self

    def _go_on(self, journal: Path, stream: IO[str]) -> None:
        """Where an earlier call with the same input and settings was, or from the beginning."""
        found, sound = _read(journal)
        if found and found[0] == {"stamp": self._stamp}:
            self._known, self._kept = found[1:], len(found) - 1
            stream.truncate(sound)
            stderr.print(f"going on after {self._kept:,} segments", highlight=False, soft_wrap=True)
            return
        if journal.stat().st_size:
            stderr.print("starting over: text, settings or model are not those of the unfinished translation here")
        stream.truncate(0)
        stream.write(json.dumps({"stamp": self._stamp}) + "\n")
        stream.flush()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()
        if kind is not None and self._journal is not None:
            if self._kept:
                stderr.print(
                    f"{self._kept:,} segments are kept; the same command goes on", highlight=False, soft_wrap=True
                )
            else:
                self._journal.unlink(missing_ok=True)

    def known(self, count: int | None = None) -> list[Segment]:
        """What an earlier call translated of the next `count` segments, or altogether."""
        count = len(self._known) if count is None else count
        found, self._known = self._known[:count], self._known[count:]
        return found

    def note(self, segment: Segment) -> None:
        """Keep a finished segment, in case this call is interrupted."""
        if self._stream is not None:
            self._stream.write(json.dumps(segment) + "\n")
            self._stream.flush()
            self._kept += 1

    def add(self, segment: Segment) -> None:
        self._line.append(segment)

    def end_line(self) -> None:
        if self._format == "text":
            self._emit(" ".join(segment["target"] for segment in self._line))
        else:
            for segment in self._line:
                shown = {key: value for key, value in segment.items() if key not in ("ids", "alternatives")}
                if self._nbest > 1:
                    shown["alternatives"] = segment["alternatives"][: self._nbest - 1]
                self._emit(json.dumps(shown, ensure_ascii=False))
        self._line = []

    def _emit(self, text: str) -> None:
        if self._path is None:
            with writing(Path("standard output")):
                print(text, flush=True)
        else:
            self._text.append(text)

    @property
    def sha256(self) -> str:
        """Of the file that `finish` will write."""
        return hashlib.sha256(self._whole()).hexdigest()

    def _whole(self) -> bytes:
        return compressed("".join(f"{line}\n" for line in self._text).encode(), self._path or Path())

    def finish(self) -> None:
        if self._path is None:
            return
        with atomic_path(self._path) as temporary:
            temporary.write_bytes(self._whole())
        if self._journal is not None and self._stream is not None:
            self._journal.unlink(missing_ok=True)
            self._stream.close()
            print(f"-> {self._path}")


def unfinished(path: Path) -> Path:
    """Where the segments of an interrupted translation into `path` are kept."""
    return path.with_name(f".{path.name}.unfinished.jsonl")


def kept_translation(segment: Segment) -> Translated:
    """What an earlier call kept, as far as going on needs it."""
    from fenster.decode.result import Translated

    return Translated(segment.get("source", ""), segment["target"], tuple(segment["ids"]), capped=segment["capped"])


def stamp(text: object, folder: Path, settings: dict[str, Any]) -> str:
    """A hash of everything that a translation depends on: text, settings, and the model itself (not its card)."""
    model = [file_sha256(path) for path in sorted(folder.iterdir()) if path.is_file() and path.suffix != ".md"]
    return hashlib.sha256(json.dumps([text, settings, model], sort_keys=True, default=str).encode()).hexdigest()


def _alone(journal: Path, path: Path) -> IO[str]:
    """The journal of a translation into `path`, opened for this process only."""
    journal.parent.mkdir(parents=True, exist_ok=True)
    while True:
        try:
            stream = journal.open("a", encoding="utf-8")
        except FileNotFoundError:  # although its folder is there, as in /proc
            raise FensterError("no file can be made there", path=path, fix="choose another output") from None
        if not lock(stream):
            stream.close()
            raise FensterError(
                "another process is translating into it", path=path, fix="wait for it, or name another output"
            )
        if os.fstat(stream.fileno()).st_nlink:
            return stream
        stream.close()  # that process has finished in between, and taken the journal away


def _read(journal: Path) -> tuple[list[Segment], int]:
    """(the stamp and the finished segments of an earlier call, bytes that they take)."""
    found, sound = [], 0
    for line in journal.read_bytes().splitlines(keepends=True):
        try:
            found.append(json.loads(line))
        except ValueError:
            break  # cut short by a kill
        if not line.endswith(b"\n"):
            found.pop()
            break
        sound += len(line)
    return found, sound
