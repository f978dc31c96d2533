"""Raw text to documents: one reader per format behind one contract (`format.Format`).

A new format is one new file and one line in FORMATS; its file says how it is recognised, read and written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fenster.data.corpora.contrapro import CONTRAPRO
from fenster.data.corpora.contrapro_folder import FOLDER
from fenster.data.corpora.csv_table import CSV
from fenster.data.corpora.format import Format
from fenster.data.corpora.iwslt_ted import TED_TAGS
from fenster.data.corpora.jsonl import JSONL
from fenster.data.corpora.opus import OPUS
from fenster.data.corpora.plain import PLAIN
from fenster.data.corpora.sgml import SGML
from fenster.data.corpora.tmx import TMX
from fenster.data.corpora.tsv import TSV
from fenster.data.corpora.wmt_xml import WMT_XML
from fenster.data.corpora.xliff import XLIFF
from fenster.document import ParallelDocument
from fenster.errors import InputError
from fenster.io.files import TextFiles, bare_suffix, compression
from fenster.registry import Registry

FORMATS: Registry[Format] = Registry(
    "corpus format",
    {
        form.name: form
        for form in (
            FOLDER,
            TED_TAGS,
            JSONL,
            TSV,
            TMX,
            XLIFF,
            CSV,
            SGML,
            WMT_XML,
            OPUS,
            CONTRAPRO,
            PLAIN,
        )  # the order of guessing
    },
)


def guess_format(paths: Sequence[Path]) -> Format:
    """The first format that recognises the files, judging by the last name, then by the first; plain text if none
    does and there are two or three of them. Otherwise an error asks for --format."""
    others = [form for form in FORMATS.values() if form is not PLAIN]
    for form in others if paths else ():
        if form.recognises(paths):
            return form
    for form in others if paths else ():
        if bare_suffix(paths[0]) in form.suffixes:
            return form
    if paths and PLAIN.recognises(paths):
        return PLAIN
    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        raise InputError("no such file", path=missing, fix="check the path and the current folder")
    raise InputError(
        f"cannot tell the format of {' '.join(map(str, paths)) or 'nothing'}",
        expected="; ".join(f"{form.name}: {' '.join(form.paths)}" for form in FORMATS.values()),
        fix="name it with --format (or `format:` in a config)",
    )


def writable_format(paths: Sequence[Path], fix: str) -> Format:
    """The format that the output's name asks for; `fix` says how else to name it."""
    suffixes = [bare_suffix(path) for path in paths]
    for form in FORMATS.values():
        if form.write is not None and len(paths) == 1 and suffixes[0] in form.suffixes:
            return form
    known = {suffix for form in FORMATS.values() for suffix in form.suffixes} | {".xml", ".bz2", ".zip"}
    known -= set(OPUS.suffixes)  # a third file of names may be called so
    if len(paths) == 1 or set(suffixes) & known:
        one = [suffix for form in FORMATS.values() if form.write is not None for suffix in form.suffixes]
        raise InputError(
            f"cannot tell which format to write to {' '.join(map(str, paths))}",
            expected=f"one {' or '.join(one)} (.xz and .gz may follow), or two or three text files",
            fix=fix,
        )
    return PLAIN


def bare_name(path: Path) -> str:
    """A file's name without the suffixes of compression and format."""
    name = path.with_suffix("").name if compression(path) else path.name
    known = {suffix for form in FORMATS.values() for suffix in form.suffixes} | {".xml"}
    return name.removesuffix(Path(name).suffix) if Path(name).suffix.lower() in known else name


def read_corpus(
    paths: Sequence[Path | str], form: Format | None = None, files: TextFiles | None = None
) -> Iterator[ParallelDocument]:
    """Stream the documents of a corpus, its format guessed from the names unless given."""
    given = [Path(path) for path in paths]
    form = form or guess_format(given)
    form.check(given)
    return _some(form, given, files or TextFiles())


def _some(form: Format, paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    """The documents; none at all is an error, since it nearly always means another format or an empty download."""
    empty = True
    for document in form.read(paths, files):
        empty = False
        yield document
    if empty:
        raise InputError(
            "no document found",
            path=paths[0],
            expected=f"a corpus in format {form.name}: {form.about}",
            fix="check that the file is what its name says, or choose another --format",
        )


__all__ = ["FORMATS", "Format", "bare_name", "guess_format", "read_corpus", "writable_format"]
