"""Reading corpora with a progress bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fenster.data.corpora import Format, guess_format, read_corpus
from fenster.document import ParallelDocument
from fenster.io.files import TextFiles
from fenster.io.progress import bar


def files_of(path: Path) -> list[Path]:
    """The file itself, or all files below a folder."""
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def stream(title: str, paths: Sequence[Path], form: Format | None = None) -> Iterator[ParallelDocument]:
    """The documents of one corpus, with a progress bar over its bytes."""
    return (document for _, document in stream_all(title, [(paths, form)]))


def stream_all(
    title: str, corpora: Sequence[tuple[Sequence[Path], Format | None]]
) -> Iterator[tuple[int, ParallelDocument]]:
    """(number of the corpus, document) of several corpora, with one progress bar over their bytes."""
    chosen = [(paths, form or guess_format(paths)) for paths, form in corpora]
    for paths, form in chosen:
        form.check(paths)
    total = sum(
        file.stat().st_size for paths, _ in chosen for path in paths if path.exists() for file in files_of(path)
    )
    with bar(title, total) as advance:
        for number, (paths, form) in enumerate(chosen):
            for document in read_corpus(paths, form, TextFiles(advance)):
                yield number, document
