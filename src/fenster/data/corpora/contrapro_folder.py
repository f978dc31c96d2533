"""A folder of documents in ContraPro's layout: `<year>/<year>_<imdb>_<subtitle>.en` and `.de`.

Written from OPUS OpenSubtitles so that contrastive items find their context; see `contrapro.Documents`. A name
without `_` goes to a sub-folder of its own name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fenster.data.corpora.format import Format, parallel_document
from fenster.data.corpora.plain import parallel_lines
from fenster.data.text import normalise
from fenster.document import ParallelDocument, Segment
from fenster.errors import InputError
from fenster.io.files import TextFiles, atomic_folder

LANGUAGES = ("en", "de")


def read_folder(paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    """Every document of the folder, by name."""
    (folder,) = paths
    if not folder.is_dir():
        raise InputError("no such folder", path=folder, expected=f"<year>/<name>.{{{','.join(LANGUAGES)}}}")
    for target in sorted(folder.glob(f"*/*.{LANGUAGES[1]}")):
        if not target.with_suffix(f".{LANGUAGES[0]}").exists():
            raise InputError(f"has no .{LANGUAGES[0]} beside it", path=target, expected="both sides of a document")
    for source in sorted(folder.glob(f"*/*.{LANGUAGES[0]}")):
        target = source.with_suffix(f".{LANGUAGES[1]}")
        rows = list(parallel_lines([source, target], files))
        sides = [[Segment(normalise(texts[i])) for _, texts in rows] for i in (0, 1)]
        yield parallel_document(source.stem, *sides, path=source, lines=range(1, len(rows) + 1), target_path=target)


def write_folder(documents: Iterable[ParallelDocument], paths: Sequence[Path]) -> int:
    """Write a new folder; the whole folder appears at once, when all of it is written."""
    (folder,) = paths
    if folder.exists():
        raise InputError("exists already", path=folder, fix="choose a new folder, or remove this one first")
    count = 0
    with atomic_folder(folder) as temporary:
        for document in documents:
            _write(document, temporary)
            count += 1
    return count


def _write(document: ParallelDocument, folder: Path) -> None:
    if "/" in document.id or document.id.startswith("."):
        raise InputError(f"document name {document.id!r} cannot be a file name", path=document.path or None)
    home = folder / document.id.split("_", 1)[0]
    home.mkdir(parents=True, exist_ok=True)
    for code, side in zip(LANGUAGES, (document.source, document.target), strict=True):
        path = home / f"{document.id}.{code}"
        if path.exists():
            raise InputError(f"two documents are called {document.id!r}", path=document.path or None)
        path.write_text("".join(text + "\n" for text in side.texts), encoding="utf-8", newline="\n")


FOLDER = Format(
    "folder",
    ("FOLDER",),
    read_folder,
    write_folder,
    "ContraPro's folder of documents",
    recognise=lambda form, paths: paths[0].is_dir(),
)
