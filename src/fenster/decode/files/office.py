"""What office documents have in common: parts of an archive whose paragraphs are translated in one context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lxml import etree

from fenster.decode.files.base import FileSegment, ParsedFile
from fenster.decode.files.inline import Part, Pieces, Unit, translated_pieces
from fenster.decode.files.package import Package
from fenster.decode.result import Translated
from fenster.io.xml import serialised
from fenster.language import locale


class AnyParagraph(Protocol):
    @property
    def pieces(self) -> Pieces: ...

    def write(self, translations: Iterator[Translated], locale: str) -> bool:
        """Put the translation into the paragraph; False if nothing changed."""


@dataclass(frozen=True)
class Description:
    """What is said of a picture or a table, for those who do not see it: an attribute."""

    element: etree._Element
    name: str
    pieces: Pieces

    @classmethod
    def listed(cls, root: etree._Element, names: Mapping[str, Sequence[str]], language: str) -> list[Description]:
        """All of a part; `names` are the attributes of elements. Their line is the number of the element."""
        made = []
        for number, element in enumerate(root.iter(*names), start=1):
            for name in names[str(element.tag)]:
                words = Part("words", element.get(name) or "")
                unit = Unit.of([words], number, language)
                made += [] if unit is None else [cls(element, name, (((words,), unit),))]
        return made

    def write(self, translations: Iterator[Translated], locale: str) -> bool:
        made = translated_pieces(self.pieces, translations)
        if made is not None:
            self.element.set(self.name, "".join(part.words for part in made))
        return made is not None


@dataclass(frozen=True)
class OfficeDocument(ParsedFile):
    package: Package
    roots: dict[str, etree._Element]
    """By part, what is translated, in reading order."""
    paragraphs: Mapping[str, Sequence[AnyParagraph]]
    target: str

    @property
    def documents(self) -> Sequence[Sequence[FileSegment]]:
        pieces = [piece for listed in self.paragraphs.values() for one in listed for piece in one.pieces]
        return [[segment for _, unit in pieces if unit is not None for segment in unit.segments]]

    def render(self, translated: Iterator[Translated]) -> Iterator[str | bytes]:
        changed = []
        for name, listed in self.paragraphs.items():
            changes = [one.write(translated, self.locale) for one in listed]
            changed += [name] if any(changes) else []
        roots = self.finished(changed) if changed else {}
        parts = self.package.parts
        yield self.package.written({name: serialised(root, parts[name]) for name, root in roots.items()})

    def finished(self, changed: Sequence[str]) -> dict[str, etree._Element]:
        """The parts to write, if the text of some has changed."""
        return {name: self.roots[name] for name in changed}

    @property
    def locale(self) -> str:
        """The language of the translation, as programs name it."""
        return locale(self.target)
