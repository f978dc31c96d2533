"""The XML of newer WMT test sets: `<dataset><doc id><src><p><seg id>`, several `<ref>` and `<hyp>`.

Read as a stream with expat. Entity declarations are refused: a test set needs none, and they are the way
to make a small file explode in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from fenster.data.corpora.format import Format, parallel_document
from fenster.data.text import normalise
from fenster.document import ParallelDocument, Segment
from fenster.errors import InputError
from fenster.io.files import TextFiles, bare_suffix


@dataclass
class _Side:
    language: str
    translator: str = ""
    segments: dict[str, str] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)


class _Handler:
    """Collects the open document; finished ones wait in `done` until the reader takes them."""

    def __init__(self, path: Path, parser: expat.XMLParserType) -> None:
        self.path, self.parser = path, parser
        self.done: list[ParallelDocument] = []
        self._id = ""
        self._source: _Side | None = None
        self._references: list[_Side] = []
        self._side: _Side | None = None  # the open <src> or <ref>
        self._text: list[str] | None = None
        self._segment = ""
        self._translators: list[str] = []  # in order of appearance: the order of references in every document
        self._language = ""  # of the first reference
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.EntityDeclHandler = self.entity

    def entity(self, *_: object) -> None:
        raise self.fail("declares an entity", expected="a test set without entity declarations")

    def fail(self, what: str, expected: str) -> InputError:
        return InputError(what, path=self.path, line=self.parser.CurrentLineNumber, expected=expected)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "doc":
            self._id = attributes.get("id") or attributes.get("docid") or ""
            if not self._id:
                raise self.fail("<doc> without id", expected='<doc id="…">')
            self._source, self._references = None, []
        elif name == "src":
            if self._source is not None:
                raise self.fail(f"document {self._id!r} has two <src>", expected="one <src> a document")
            self._side = self._source = _Side(attributes.get("lang", ""))
        elif name == "ref":
            self._side = self._reference(attributes)
        elif name == "seg" and self._side is not None:
            if self._text is not None:
                raise self.fail(f"<seg> inside segment {self._segment!r}", expected="<seg>…</seg>")
            self._segment = attributes.get("id", str(len(self._side.segments) + 1))
            if self._segment in self._side.segments:
                raise self.fail(
                    f"segment id {self._segment!r} occurs twice in document {self._id!r}",
                    expected="every <seg id> once per side",
                )
            self._side.lines.append(self.parser.CurrentLineNumber)
            self._text = []

    def _reference(self, attributes: dict[str, str]) -> _Side:
        side = _Side(attributes.get("lang", ""), attributes.get("translator", ""))
        self._language = self._language or side.language
        if side.language and side.language != self._language:
            raise self.fail(
                f"a reference in {side.language!r} after one in {self._language!r}",
                expected="references in one language",
            )
        if side.translator not in self._translators:
            self._translators.append(side.translator)
        self._references.append(side)
        return side

    def characters(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def end(self, name: str) -> None:
        if name == "seg" and self._side is not None and self._text is not None:
            self._side.segments[self._segment] = normalise("".join(self._text))
            self._text = None
        elif name in ("src", "ref"):
            self._side = None
        elif name == "doc":
            self.done.append(self._document())

    def _document(self) -> ParallelDocument:
        source = self._source
        references = sorted(self._references, key=lambda side: self._translators.index(side.translator))
        if source is None or not references:
            missing = "<src>" if source is None else "<ref>"
            raise self.fail(
                f"document {self._id!r} has no {missing}",
                expected="one <src> and at least one <ref> per document",
            )
        for side in references:
            wrong = sorted(set(source.segments) ^ set(side.segments))
            if wrong:
                raise self.fail(
                    f"document {self._id!r}: segment {wrong[0]!r} is on one side only "
                    f"({len(source.segments)} source, {len(side.segments)} reference segments)",
                    expected="the same <seg id>s in <src> and every <ref>",
                )
        sides = [[Segment(side.segments[id], id) for id in source.segments] for side in (source, *references)]
        return parallel_document(
            self._id, sides[0], sides[1], references=sides[2:], path=self.path, lines=source.lines
        )


def read_wmt_xml(paths: Sequence[Path], files: TextFiles) -> Iterator[ParallelDocument]:
    """One file; the first `<ref>` is the target, the others are further references.

    Documents may list their translators in any order: they are put in the order in which the file first names them.
    """
    (path,) = paths
    parser = expat.ParserCreate()
    parser.buffer_text = True
    handler = _Handler(path, parser)
    try:
        for _, line in files.lines(path):
            parser.Parse(line + "\n")
            yield from handler.done
            handler.done.clear()
        parser.Parse("", True)
    except expat.ExpatError as error:
        raise InputError(
            f"not well-formed XML: {expat.errors.messages[error.code]} at column {error.offset + 1}",
            path=path,
            line=error.lineno,
            expected="a WMT test set in XML",
            fix="for old .sgm files use --format sgml",
        ) from None


WMT_XML = Format(
    "wmt-xml",
    ("FILE",),
    read_wmt_xml,
    about="newer WMT test sets, several references",
    recognise=lambda form, paths: bare_suffix(paths[0]) == ".xml" and len(paths) == 1,
)
