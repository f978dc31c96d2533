"""PowerPoint presentations: the text of slides and of their notes is translated in one context, slide by slide.

Formats, links and fields move with their words; charts, comments and all other parts stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass

from lxml import etree

from fenster.decode.files.base import DocumentFormat, FileOptions
from fenster.decode.files.inline import ORDINALS, Part, Pieces, cut_in_units, translated_pieces
from fenster.decode.files.office import AnyParagraph, Description, OfficeDocument
from fenster.decode.files.package import Package
from fenster.decode.files.runs import Format, Pairs, base_format, with_formats
from fenster.decode.result import Translated
from fenster.errors import InputError
from fenster.io.files import FileSource

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SLIDE = re.compile(r"ppt/(slides|notesSlides)/(?:slide|notesSlide)(\d+)\.xml")
_DESCRIBED = {"{http://schemas.openxmlformats.org/presentationml/2006/main}cNvPr": ("title", "descr")}
_UNSEEN = ("lang", "altLang", "dirty", "err", "smtClean", "noProof")
_KEPT = (_A + "pPr", _A + "endParaRPr")


@dataclass(frozen=True)
class Paragraph:
    element: etree._Element
    base: Format
    pieces: Pieces

    @classmethod
    def read(cls, element: etree._Element, line: int, language: str) -> Paragraph | None:
        """None if there is nothing to translate."""
        parts: list[list[Part]] = [[]]
        for child in element:
            if child.tag == _A + "r" and not _is_raised(child):
                words = child.findtext(_A + "t") or ""
                unseen = (*_UNSEEN, "baseline") if words in ORDINALS else _UNSEEN
                parts[-1].append(Part("words", words, value=Format.of(child.find(_A + "rPr"), unseen)))
            elif child.tag not in _KEPT:
                single = Part("single", value=child)
                if child.tag == _A + "br":
                    parts += [[single], []]
                else:
                    parts[-1].append(single)
        base = base_format(part for piece in parts for part in piece)
        pairs = Pairs()
        pieces = cut_in_units([with_formats(piece, base, pairs) for piece in parts], line, language)
        return cls(element, base, pieces) if any(unit for _, unit in pieces) else None

    def write(self, translations: Iterator[Translated], locale: str) -> bool:
        """Put the translation into the paragraph; False if nothing changed."""
        made = translated_pieces(self.pieces, translations)
        if made is not None:
            self._write(made, locale)
        return made is not None

    def _write(self, parts: Sequence[Part], locale: str) -> None:
        end = self.element.find(_A + "endParaRPr")
        for child in list(self.element):
            if child.tag != _A + "pPr":
                self.element.remove(child)
        formats = [self.base]
        for part in parts:
            if part.kind == "open":
                formats.append(part.value)
            elif part.kind == "close":
                formats.pop()
            elif part.kind == "single":
                self.element.append(part.value)
            else:
                shown = part.value if isinstance(part.value, Format) else formats[-1]
                run = etree.SubElement(self.element, _A + "r")
                if shown.element is not None:
                    properties = deepcopy(shown.element)
                    properties.set("lang", locale)
                    run.append(properties)
                etree.SubElement(run, _A + "t").text = part.words
        if end is not None:
            self.element.append(end)


def _is_raised(run: etree._Element) -> bool:
    """True for the 2 of m² and H₂O, which stay with what they belong to."""
    properties = run.find(_A + "rPr")
    raised = properties is not None and properties.get("baseline", "0") not in ("0", "0%")
    return raised and run.findtext(_A + "t") not in ORDINALS


class PresentationFormat(DocumentFormat):
    suffixes = (".pptx", ".pptm", ".potx")
    about = "PowerPoint: slides and their notes; formats and links move with their words"
    writes_file = True
    is_binary = True

    def parse(self, source: FileSource, options: FileOptions) -> OfficeDocument:
        package = Package.read(source, "PowerPoint")
        names = [name for name in package.parts if _SLIDE.fullmatch(name)]
        if not names:
            raise InputError("has no slides", path=source.path, expected="a PowerPoint presentation (.pptx)")
        roots = {name: package.xml(name) for name in sorted(names, key=_reading_order)}
        paragraphs: dict[str, list[AnyParagraph]] = {
            name: [*_paragraphs(root, options.language), *Description.listed(root, _DESCRIBED, options.language)]
            for name, root in roots.items()
        }
        return OfficeDocument(package, roots, paragraphs, options.target)


def _reading_order(name: str) -> tuple[int, str]:
    """The notes of a slide after it; files are numbered as the slides are, unless somebody moved them."""
    match = _SLIDE.fullmatch(name)
    assert match is not None
    return int(match[2]), "b" if match[1] == "notesSlides" else "a"


def _paragraphs(root: etree._Element, language: str) -> list[Paragraph]:
    """Those with words, in order; the line of a segment is the number of its paragraph."""
    made = (Paragraph.read(one, number, language) for number, one in enumerate(root.iter(_A + "p"), start=1))
    return [one for one in made if one is not None]
