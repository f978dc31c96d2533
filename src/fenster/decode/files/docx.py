"""Word documents: text, tables, text boxes, notes, headers and footers are translated in one context.

Formats, links, notes and fields move with their words. Comments, deleted text, macros, pictures and all other parts
stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import deepcopy

from lxml import etree

from fenster.decode.files.base import DocumentFormat, FileOptions
from fenster.decode.files.docx_paragraph import Paragraph, W
from fenster.decode.files.office import AnyParagraph, Description, OfficeDocument
from fenster.decode.files.package import Package
from fenster.errors import InputError
from fenster.io.files import FileSource

_PARTS = re.compile(r"word/(?:document\d*|footnotes|endnotes|header\d*|footer\d*)\.xml")
_STYLES = "word/styles.xml"
_ORDER = ("document", "footnotes", "endnotes", "header", "footer")
_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
_DESCRIBED = {_PICTURE: ("title", "descr"), W + "tblCaption": (W + "val",), W + "tblDescription": (W + "val",)}
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_CHOICE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Choice"


class WordDocument(OfficeDocument):
    def finished(self, changed: Sequence[str]) -> dict[str, etree._Element]:
        roots = super().finished(changed)
        for root in roots.values():
            _copy_to_fallbacks(root)
        if _STYLES in self.package.parts:
            roots[_STYLES] = self.package.xml(_STYLES)
            for language in roots[_STYLES].iterfind(f"{W}docDefaults//{W}lang"):  # of text that names none
                language.set(W + "val", self.locale)
        return roots


class WordFormat(DocumentFormat):
    suffixes = (".docx", ".docm", ".dotx")
    about = "Word: formats, links and notes move with their words; comments, macros and pictures stay"
    writes_file = True
    is_binary = True

    def parse(self, source: FileSource, options: FileOptions) -> WordDocument:
        package = Package.read(source, "Word")
        names = sorted(filter(_PARTS.fullmatch, package.parts), key=_reading_order)
        if not names or "document" not in names[0]:
            raise InputError("has no text part", path=source.path, expected="a Word document (.docx)")
        roots = {name: package.xml(name) for name in names}
        if not str(roots[names[0]].tag).startswith(W):
            raise InputError(
                f"its text is {roots[names[0]].tag}",
                path=source.path,
                expected="a standard .docx (Transitional), not Strict Open XML",
                fix="save it again as Word document (.docx)",
            )
        paragraphs: dict[str, list[AnyParagraph]] = {
            name: [*_paragraphs(root, options.language), *Description.listed(root, _DESCRIBED, options.language)]
            for name, root in roots.items()
        }
        return WordDocument(package, roots, paragraphs, options.target)


def _reading_order(name: str) -> tuple[int, int, str]:
    kind = next(number for number, start in enumerate(_ORDER) if name.startswith(f"word/{start}"))
    return kind, len(name), name


def _paragraphs(root: etree._Element, language: str) -> list[Paragraph]:
    """Those with words, in order; the line of a segment is the number of its paragraph."""
    made = []
    for number, element in enumerate(root.iter(W + "p"), start=1):
        if next(element.iterancestors(_FALLBACK), None) is None:
            made.append(Paragraph.read(element, number, language))
    return [one for one in made if one is not None]


def _copy_to_fallbacks(root: etree._Element) -> None:
    """Text boxes have a second version for old programs, which gets the same words."""
    for fallback in root.iter(_FALLBACK):
        parent = fallback.getparent()
        choice = None if parent is None else parent.find(_CHOICE)
        if choice is None:
            continue
        ours, theirs = list(choice.iter(W + "p")), list(fallback.iter(W + "p"))
        for new, old in zip(ours, theirs, strict=False) if len(ours) == len(theirs) else ():
            for child in list(old):
                if child.tag != W + "pPr":
                    old.remove(child)
            old.extend(deepcopy(child) for child in new if child.tag != W + "pPr")
