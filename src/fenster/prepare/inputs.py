"""The corpora of a preparation: what is read, how it is hashed, and how far reading is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from fenster.config import CorpusConfig
from fenster.corpus import FORMATS, TextFiles, guess_format, read_corpus
from fenster.document import ParallelDocument
from fenster.errors import InputError
from fenster.manifest import InputRecord, file_sha256
from fenster.progress import bar


def format_name(corpus: CorpusConfig) -> str:
    return corpus.format or guess_format(corpus.paths).name


def read(corpus: CorpusConfig, files: TextFiles) -> Iterator[ParallelDocument]:
    return read_corpus(corpus.paths, FORMATS[format_name(corpus)], files)


def files_of(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def record(split: str, corpus: CorpusConfig) -> InputRecord:
    hashed = hashlib.sha256()
    for path in corpus.paths:
        if not path.exists():
            raise InputError("no such file", path=path, fix="check the path and the current folder")
        for file in files_of(path):
            # In a folder names carry meaning; a single file may be called anything.
            name = str(file.relative_to(path)) if path.is_dir() else ""
            hashed.update(f"{name} {file_sha256(file)}\n".encode())
    return InputRecord(
        split=split,
        format=format_name(corpus),
        paths=tuple(map(str, corpus.paths)),
        sha256=hashed.hexdigest(),
    )


def stream(title: str, corpora: Sequence[CorpusConfig]) -> Iterator[ParallelDocument]:
    """The documents of several corpora, with a progress bar over their bytes."""
    total = sum(file.stat().st_size for corpus in corpora for path in corpus.paths for file in files_of(path))
    with bar(title, total) as advance:
        for corpus in corpora:
            yield from read(corpus, TextFiles(advance))
