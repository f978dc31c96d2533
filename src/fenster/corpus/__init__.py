"""Raw text to documents: one reader per format behind one contract (`base.Format`).

A new format is one new file and one line in FORMATS.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fenster.corpus.base import Format
from fenster.corpus.contrapro import read_contrapro
from fenster.corpus.files import TextFiles, bare_suffix
from fenster.corpus.folder import read_folder, write_folder
from fenster.corpus.opus import read_opus
from fenster.corpus.plain import read_plain, write_plain
from fenster.corpus.sgml import read_sgml
from fenster.corpus.table import read_jsonl, read_tsv, write_jsonl, write_tsv
from fenster.corpus.ted import read_ted_tags
from fenster.corpus.wmt_xml import read_wmt_xml
from fenster.document import ParallelDocument
from fenster.errors import InputError

FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        Format("jsonl", ("FILE",), read_jsonl, write_jsonl, "one document a line; the house format"),
        Format("tsv", ("FILE",), read_tsv, write_tsv, "document, source and target, separated by tabs"),
        Format(
            "plain",
            ("SOURCE", "TARGET", "[DOCUMENTS]"),
            read_plain,
            write_plain,
            "two parallel files, blank lines between documents; or a third file of document names",
        ),
        Format("sgml", ("SOURCE", "REFERENCE", "[REFERENCE...]"), read_sgml, None, "old WMT and IWSLT TED tests"),
        Format("wmt-xml", ("FILE",), read_wmt_xml, None, "newer WMT test sets, several references"),
        Format("ted-tags", ("SOURCE", "TARGET"), read_ted_tags, None, "IWSLT train.tags.*"),
        Format("opus", ("SOURCE", "TARGET", "IDS"), read_opus, None, "OPUS OpenSubtitles, moses + ids"),
        Format("contrapro", ("JSON", "[DOCUMENTS]"), read_contrapro, None, "ContraPro items in context"),
        Format("folder", ("FOLDER",), read_folder, write_folder, "ContraPro's folder of documents"),
    )
}

_BY_SUFFIX = {
    ".jsonl": "jsonl",
    ".tsv": "tsv",
    ".sgm": "sgml",
    ".sgml": "sgml",
    ".json": "contrapro",
    ".ids": "opus",
}


def guess_format(paths: Sequence[Path]) -> Format:
    """The format that names and number of the files suggest; an error asks for --format."""
    name = None
    if paths and paths[0].is_dir():
        name = "folder"
    elif paths and all(path.name.startswith("train.tags.") for path in paths):
        name = "ted-tags"
    elif paths:
        # The last file decides: `a.de a.en a.ids` is OPUS, `a.json documents/` is ContraPro.
        name = _BY_SUFFIX.get(bare_suffix(paths[-1])) or _BY_SUFFIX.get(bare_suffix(paths[0]))
        if name is None and bare_suffix(paths[0]) == ".xml":
            name = "sgml" if len(paths) > 1 else "wmt-xml"
        elif name is None and len(paths) in (2, 3):
            name = "plain"
    if name is None:
        raise InputError(
            f"cannot tell the format of {' '.join(map(str, paths)) or 'nothing'}",
            expected="; ".join(f"{form.name}: {' '.join(form.paths)}" for form in FORMATS.values()),
            fix="name it with --format (or `format:` in a config)",
        )
    return FORMATS[name]


def get_format(name: str) -> Format:
    if name not in FORMATS:
        raise InputError(f"no format is called {name!r}", expected=", ".join(FORMATS))
    return FORMATS[name]


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
    found = False
    for document in form.read(paths, files):
        found = True
        yield document
    if not found:
        raise InputError(
            "no document found",
            path=paths[0],
            expected=f"a corpus in format {form.name}: {form.about}",
            fix="check that the file is what its name says, or name another --format",
        )


__all__ = ["FORMATS", "Format", "TextFiles", "get_format", "guess_format", "read_corpus"]
