"""Where `fenster translate` writes: line by line as it is ready, and so that an interrupted call can go on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fenster.corpus.files import atomic_path
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
        self._known = [] if self._journal is None else _read(self._journal, stamp)
        self._line: list[Segment] = []
        self._text: list[str] = []
        self._stamp, self._kept = stamp, len(self._known)
        self._stream: IO[str] | None = None

    def __enter__(self) -> Output:
        if self._journal is not None:
            if self._known:
                stderr.print(f"going on after {len(self._known):,} segments", highlight=False, soft_wrap=True)
            elif self._journal.exists():
                stderr.print(
                    "starting over: text, settings or model are not those of the unfinished translation here"
                )
            with atomic_path(self._journal) as temporary:
                lines = [{"stamp": self._stamp}, *self._known]
                temporary.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            with writing(self._journal):
                self._stream = self._journal.open("a", encoding="utf-8")
        return self

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
            print(text, flush=True)
        else:
            self._text.append(text)

    @property
    def sha256(self) -> str:
        """Of the file that `finish` will write."""
        return hashlib.sha256(self._whole()).hexdigest()

    def _whole(self) -> bytes:
        return "".join(f"{line}\n" for line in self._text).encode()

    def finish(self) -> None:
        if self._path is None:
            return
        with atomic_path(self._path) as temporary:
            temporary.write_bytes(self._whole())
        if self._journal is not None and self._stream is not None:
            self._stream.close()
            self._journal.unlink()
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


def _read(journal: Path, stamp: str) -> list[Segment]:
    """Finished segments of an earlier call with the same input and settings."""
    if not journal.is_file():
        return []
    found = []
    for line in journal.read_bytes().split(b"\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            break  # the end, or cut short by a kill
    return found[1:] if found and found[0] == {"stamp": stamp} else []
