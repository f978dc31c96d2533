"""What office documents have in common: parts of an archive whose paragraphs are translated in one context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lxml import etree

from fenster.decode.files.base import FileSegment, ParsedFile
from fenster.decode.files.inline import Pieces
from fenster.decode.files.package import Package
from fenster.decode.result import Translated
from fenster.io.xml import serialised
from fenster.language import locale


class Paragraph(Protocol):
    @property
    def pieces(self) -> Pieces: ...

    def write(self, translations: Iterator[Translated], locale: str) -> bool:
        """Put the translation into the paragraph; False if nothing changed."""


@dataclass(frozen=True)
class OfficeDocument(ParsedFile):
    package: Package
    roots: dict[str, etree._Element]
    """By part, what is translated, in reading order."""
    paragraphs: Mapping[str, Sequence[Paragraph]]
    target: str

    @property
    def documents(self) -> Sequence[Sequence[FileSegment]]:  # type: ignore[override]
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
