"""The corpora of a preparation: what is read, and how it is hashed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from fenster.data.corpora import FORMATS, Format, guess_format, read_corpus
from fenster.data.corpora.stream import files_of, stream_all
from fenster.data.manifest import InputRecord
from fenster.data.prepare.config import CorpusConfig
from fenster.document import ParallelDocument
from fenster.errors import InputError
from fenster.io.files import TextFiles
from fenster.io.hashing import file_sha256


def format_of(corpus: CorpusConfig) -> Format:
    return guess_format(corpus.paths) if corpus.format is None else FORMATS[corpus.format]


def read(corpus: CorpusConfig, files: TextFiles) -> Iterator[ParallelDocument]:
    return read_corpus(corpus.paths, format_of(corpus), files)


def record(split: str, corpus: CorpusConfig) -> InputRecord:
    hashed = hashlib.sha256()
    for path in corpus.paths:
        if not path.exists():
            raise InputError(
                "no such file",
                path=path,
                fix="check the path; --data-root, or the variable FENSTER_DATA, names the folder of raw corpora "
                "(docs/data.md)",
            )
        for file in files_of(path):
            # In a folder names carry meaning; a single file may be called anything.
            name = str(file.relative_to(path)) if path.is_dir() else ""
            hashed.update(f"{name} {file_sha256(file)}\n".encode())
    return InputRecord(
        split=split,
        format=format_of(corpus).name,
        paths=tuple(map(str, corpus.paths)),
        sha256=hashed.hexdigest(),
    )


def stream(title: str, corpora: Sequence[CorpusConfig]) -> Iterator[tuple[int, ParallelDocument]]:
    """(number of the corpus, document) of several corpora up to their caps, with a progress bar over their bytes."""
    pairs = [0] * len(corpora)
    for number, document in stream_all(title, [(corpus.paths, format_of(corpus)) for corpus in corpora]):
        cap = corpora[number].cap
        if cap is None or pairs[number] + len(document) <= cap:
            pairs[number] += len(document)
            yield number, document
