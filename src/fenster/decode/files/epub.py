"""E-books (EPUB): chapters in reading order, the table of contents and the title, translated in one context as web
pages are; everything else stays as it is."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from fenster.decode.files.base import DocumentFormat, FileOptions, FileSegment, ParsedFile
from fenster.decode.files.html import HtmlText, parse_html, translate_elements
from fenster.decode.files.html_encoding import decoded
from fenster.decode.files.package import Package
from fenster.decode.result import Translated
from fenster.errors import InputError
from fenster.io.files import FileSource

_CONTAINER = "META-INF/container.xml"
_CHAPTER = "application/xhtml+xml"
_CONTENTS = "application/x-dtbncx+xml"


@dataclass(frozen=True)
class Book(ParsedFile):
    package: Package
    pages: dict[str, tuple[HtmlText, str]]
    """By part, in reading order: its text, and its encoding."""

    @property
    def documents(self) -> Sequence[Sequence[FileSegment]]:
        slots = [slot for page, _ in self.pages.values() for slot in page.slots]
        return [[segment for slot in slots for segment in slot.unit.segments]]

    def render(self, translated: Iterator[Translated]) -> Iterator[str | bytes]:
        changed = {}
        for name, (page, encoding) in self.pages.items():
            text = page.render(translated)
            if text != page.text:
                bom = "\ufeff" if self.package.parts[name].startswith("\ufeff".encode()) else ""
                changed[name] = (bom + text).encode(encoding, "xmlcharrefreplace")
        yield self.package.written(changed)


class BookFormat(DocumentFormat):
    suffixes = (".epub",)
    about = "e-books: chapters, table of contents and title"
    writes_file = True
    is_binary = True

    def parse(self, source: FileSource, options: FileOptions) -> Book:
        package = Package.read(source, "EPUB")
        opf = _root_file(package)
        text, encoding = _text(package, opf)
        pages = {opf: (translate_elements(text, {"dc:title", "dc:description"}, options), encoding)}
        for name in _reading_order(package, opf):
            text, encoding = _text(package, name)
            is_contents = name.endswith(".ncx")
            page = translate_elements(text, {"text"}, options) if is_contents else parse_html(text, options)
            pages[name] = (page, encoding)
        return Book(package, pages)


def _text(package: Package, name: str) -> tuple[str, str]:
    return decoded(FileSource(package.parts[name], Path(f"{package.source.path}:{name}")))


def _root_file(package: Package) -> str:
    for element in package.xml(_CONTAINER).iter("{*}rootfile"):
        name = element.get("full-path")
        if name in package.parts:
            return str(name)
    raise InputError("lists no book in its container.xml", path=package.source.path, expected="an EPUB file")


def _reading_order(package: Package, opf: str) -> list[str]:
    """Chapters as the spine has them, then what is not in it, then the table of contents."""
    root = package.xml(opf)
    folder = posixpath.dirname(opf)
    items: dict[str | None, tuple[str, str]] = {}
    for item in root.iter("{*}item"):
        name = posixpath.normpath(posixpath.join(folder, unquote(item.get("href") or "")))
        if name in package.parts:
            items[item.get("id")] = (name, item.get("media-type") or "")
    spine = [items[one.get("idref")][0] for one in root.iter("{*}itemref") if one.get("idref") in items]
    chapters = [name for name, kind in items.values() if kind == _CHAPTER]
    contents = [name for name, kind in items.values() if kind == _CONTENTS]
    ordered = [name for name in spine if name in chapters]
    return list(dict.fromkeys([*ordered, *chapters, *contents]))
