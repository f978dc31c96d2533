"""OpenDocument text and presentations: paragraphs, headings, tables, text boxes, notes, headers and footers.

All of a file is translated in one context. Formats, links, notes and fields move with their words; comments and
deleted text stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lxml import etree

from fenster.decode.files.base import DocumentFormat, FileOptions
from fenster.decode.files.inline import Part, Pieces, cut_in_units, translated_pieces
from fenster.decode.files.mixed import Range, Vocabulary, read_mixed, write_mixed
from fenster.decode.files.office import OfficeDocument
from fenster.decode.files.package import Package
from fenster.decode.files.runs import Pairs
from fenster.decode.result import Translated
from fenster.io.files import FileSource

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_SVG = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"
_DESCRIPTIONS = (_SVG + "title", _SVG + "desc")  # of pictures
_STYLE_NAME = _TEXT + "style-name"
_WORDS = Vocabulary(
    pairs=frozenset({_TEXT + "span", _TEXT + "a", _TEXT + "meta"}),
    dropped=frozenset({_TEXT + "soft-page-break"}),
    ranges={
        _TEXT + "bookmark-start": Range(_TEXT + "bookmark-end", (_TEXT + "name",), (_TEXT + "name",)),
        _TEXT + "reference-mark-start": Range(_TEXT + "reference-mark-end", (_TEXT + "name",), (_TEXT + "name",)),
        _TEXT + "change-start": Range(_TEXT + "change-end", (_TEXT + "change-id",), (_TEXT + "change-id",)),
        _OFFICE + "annotation": Range(_OFFICE + "annotation-end", (_OFFICE + "name",), (_OFFICE + "name",)),
    },
    spaces={_TEXT + "s": _TEXT + "c"},
)
_CODE = re.compile(r"source|verbatim|preformatted|teletype|code", re.IGNORECASE)  # styles of what is not prose
_BREAKS = {_TEXT + "tab", _TEXT + "line-break"}
_UNTRANSLATED = (_OFFICE + "annotation", _TEXT + "tracked-changes")
_PARTS = ("content.xml", "styles.xml")  # headers and footers are styles


@dataclass(frozen=True)
class Paragraph:
    element: etree._Element
    pieces: Pieces

    @classmethod
    def read(cls, element: etree._Element, line: int, language: str, words: Vocabulary) -> Paragraph | None:
        """None if there is nothing to translate."""
        pieces: list[list[Part]] = [[]]
        depth = 0
        for part in read_mixed(element, words, Pairs()):
            depth += (part.kind == "open") - (part.kind == "close")
            if depth == 0 and part.kind == "single" and part.value.tag in _BREAKS:
                pieces += [[part], []]
            else:
                pieces[-1].append(part)
        listed = cut_in_units(pieces, line, language)
        return cls(element, listed) if any(unit for _, unit in listed) else None

    def write(self, translations: Iterator[Translated], locale: str) -> bool:
        """Put the translation into the paragraph; False if nothing changed."""
        made = translated_pieces(self.pieces, translations)
        if made is not None:
            write_mixed(self.element, made, _WORDS)
        return made is not None


class OpenDocument(OfficeDocument):
    def finished(self, changed: Sequence[str]) -> dict[str, etree._Element]:
        language, _, country = self.locale.partition("-")
        for root in self.roots.values():
            for element in root.iter():
                if element.get(_FO + "language") not in (None, "none", "zxx"):
                    element.set(_FO + "language", language)
                    element.set(_FO + "country", country or "none")
        return self.roots  # styles name the language, too


class OpenDocumentFormat(DocumentFormat):
    suffixes = (".odt", ".ott", ".odp")
    about = "OpenDocument: formats, links and notes move with their words; comments and pictures stay"
    writes_file = True
    is_binary = True

    def parse(self, source: FileSource, options: FileOptions) -> OpenDocument:
        package = Package.read(source, "OpenDocument")
        roots = {name: package.xml(name) for name in _PARTS if name in package.parts or name == _PARTS[0]}
        words = replace(_WORDS, kept=frozenset(name for root in roots.values() for name in _kept_styles(root)))
        paragraphs = {name: _paragraphs(root, options.language, words) for name, root in roots.items()}
        return OpenDocument(package, roots, paragraphs, options.target)


def _kept_styles(root: etree._Element) -> Iterator[tuple[str, str]]:
    """The styles of the 2 of m² and H₂O, which stay with what they belong to, and those of code."""
    for style in root.iter(_STYLE + "style"):
        raised = any(
            (properties.get(_STYLE + "text-position", "").split() or ["0%"])[0] != "0%"
            for properties in style.iter(_STYLE + "text-properties")
        )
        name = style.get(_STYLE + "name") or ""
        is_text = style.get(_STYLE + "family") == "text"
        if raised or (is_text and _CODE.search(f"{name} {style.get(_STYLE + 'parent-style-name')}")):
            yield _STYLE_NAME, name
    for span in root.iter(_TEXT + "span"):  # styles may be defined in another part
        if _CODE.search(span.get(_STYLE_NAME) or ""):
            yield _STYLE_NAME, span.get(_STYLE_NAME) or ""


def _paragraphs(root: etree._Element, language: str, words: Vocabulary) -> list[Paragraph]:
    """Those with words, in order; the line of a segment is the number of its paragraph."""
    made = []
    parents = {one.get(_STYLE + "name"): one.get(_STYLE + "parent-style-name") for one in root.iter(_STYLE + "style")}
    for number, element in enumerate(root.iter(_TEXT + "p", _TEXT + "h", *_DESCRIPTIONS), start=1):
        style = element.get(_STYLE_NAME)
        names = f"{style} {parents.get(style)}"  # an automatic style is called P2
        if not _CODE.search(names) and next(element.iterancestors(*_UNTRANSLATED), None) is None:
            made.append(Paragraph.read(element, number, language, words))
    return [one for one in made if one is not None]
