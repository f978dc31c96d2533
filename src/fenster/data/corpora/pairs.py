"""Sentences with their translations, from any corpus, or from lines of two columns."""

from __future__ import annotations

from pathlib import Path

from fenster.data.corpora import FORMATS, read_corpus
from fenster.document import Document, ParallelDocument
from fenster.errors import InputError
from fenster.io.files import TextFiles, bare_suffix


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Pairs in order; those without text on either side are left out."""
    documents = read_documents(path)
    pairs = (pair for one in documents for pair in zip(one.source.texts, one.target.texts, strict=True))
    return [pair for pair in pairs if all(pair)]


def read_documents(path: Path) -> list[ParallelDocument]:
    """The documents of a corpus; lines of two columns are one."""
    lines = list(TextFiles().lines(path)) if bare_suffix(path) in (".tsv", ".txt", "") else None
    if lines is None or all(text.count("\t") == 2 for _, text in lines if text.strip()):
        return list(read_corpus([path], None if lines is None else FORMATS["tsv"]))
    listed = []
    for number, text in lines:
        parts = text.split("\t")
        if text.strip() and (len(parts) != 2 or not all(part.strip() for part in parts)):
            raise InputError("not a pair", path=path, line=number, expected="source TAB translation")
        if text.strip():
            listed.append((parts[0], parts[1]))
    source, target = (Document.of("", [pair[side] for pair in listed]) for side in (0, 1))
    return [ParallelDocument(source, target)]
