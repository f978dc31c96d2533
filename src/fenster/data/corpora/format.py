"""What a corpus format is: a reader over some paths, and for some formats a writer.

A reader streams `ParallelDocument`s and raises `InputError` naming file and line. `parallel_document` holds the
checks that every format shares, so that no reader repeats them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fenster.data.text import normalise
from fenster.document import Document, ParallelDocument, Segment
from fenster.errors import InputError, counted
from fenster.io.files import TextFiles, bare_suffix

Reader = Callable[[Sequence[Path], TextFiles], Iterator[ParallelDocument]]
Writer = Callable[[Iterable[ParallelDocument], Sequence[Path]], int]


def _by_suffix(form: Format, paths: Sequence[Path]) -> bool:
    """The default: the last file has one of the format's suffixes."""
    return bare_suffix(paths[-1]) in form.suffixes


@dataclass(frozen=True)
class Format:
    """One corpus format. `paths` names its files in order, for help and errors; a trailing `...` means
    that the last kind may repeat, `[name]` that it may be left out."""

    name: str
    paths: tuple[str, ...]
    read: Reader
    write: Writer | None = None
    about: str = ""
    suffixes: tuple[str, ...] = ()
    """Names that it is recognised by, compression aside: `.tsv`."""
    recognise: Callable[[Format, Sequence[Path]], bool] = _by_suffix
    keeps_references: bool = False
    """True if it can write several references."""

    def recognises(self, paths: Sequence[Path]) -> bool:
        """True if these files look like this format."""
        return self.recognise(self, paths)

    def check(self, paths: Sequence[Path]) -> None:
        least = sum(not name.startswith("[") for name in self.paths)
        most = None if self.paths[-1].endswith("...]") else len(self.paths)
        if len(paths) < least or (most is not None and len(paths) > most):
            raise InputError(
                f"format {self.name!r} got {counted(len(paths), 'path')}: {', '.join(map(str, paths)) or 'none'}",
                expected=" ".join(self.paths),
                fix="give the files in that order, or choose another --format",
            )


def parallel_document(
    id: str,
    source: Sequence[Segment],
    target: Sequence[Segment],
    *,
    path: Path,
    lines: Sequence[int],
    references: Sequence[Sequence[Segment]] = (),
    target_path: Path | None = None,
    target_lines: Sequence[int] | None = None,
) -> ParallelDocument:
    """A checked parallel document: a name, equal segment counts, text on every side."""
    id, line = normalise(id), lines[0] if lines else None
    if not id:
        raise InputError("document without a name", path=path, line=line, expected="a name")
    sides = [("source", source), ("target", target), *(("reference", side) for side in references)]
    for name, side in sides[1:]:
        if len(side) != len(source):
            raise InputError(
                f"document {id!r} has {len(source)} source but {len(side)} {name} segments"
                + (f" (in {target_path})" if target_path else ""),
                path=path,
                line=line,
                expected="one target segment for each source segment",
                fix="align the two sides first; an untranslated segment is an empty one, not a missing one",
            )
    for name, side in sides:
        if not any(segment.text for segment in side):
            raise InputError(
                f"document {id!r} is empty on the {name} side",
                path=path,
                line=line,
                expected="text in at least one segment of every side",
                fix="remove the document from both sides, or restore its text",
            )
    return ParallelDocument(
        Document(id, tuple(source)),
        Document(id, tuple(target)),
        tuple(Document(id, tuple(side)) for side in references),
        str(path),
        lines,
        "" if target_path is None else str(target_path),
        lines if target_lines is None else target_lines,
    )
