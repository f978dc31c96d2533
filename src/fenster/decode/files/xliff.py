"""XLIFF 1.2 and 2.0: units without a finished translation get one, which is marked as in need of a review. Inline
elements move with their words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass

from lxml import etree

from fenster.decode.files.base import DocumentFormat, FileOptions, FileSegment, ParsedFile
from fenster.decode.files.icu import has_choice
from fenster.decode.files.inline import Part, Unit
from fenster.decode.files.mixed import Range, Vocabulary, read_mixed, write_mixed
from fenster.decode.files.runs import Pairs
from fenster.decode.result import Translated
from fenster.errors import InputError, counted
from fenster.io.files import FileSource
from fenster.io.xml import parse_xml, serialised

_V1, _V2 = "{urn:oasis:names:tc:xliff:document:1.2}", "{urn:oasis:names:tc:xliff:document:2.0}"
_WORDS = {
    _V1: Vocabulary(
        pairs=frozenset({_V1 + "g", _V1 + "mrk"}),
        kept=frozenset({("mtype", "protected"), ("translate", "no")}),
        ranges={
            _V1 + "bpt": Range(_V1 + "ept", ("rid", "id"), ("rid", "id")),
            _V1 + "bx": Range(_V1 + "ex", ("rid", "id"), ("rid", "id")),
        },
    ),
    _V2: Vocabulary(
        pairs=frozenset({_V2 + "pc", _V2 + "mrk"}),
        kept=frozenset({("translate", "no")}),
        ranges={
            _V2 + "sc": Range(_V2 + "ec", ("id",), ("startRef",)),
            _V2 + "sm": Range(_V2 + "em", ("id",), ("startRef",)),
        },
    ),
}
_FINISHED = ("final", "signed-off", "reviewed", "translated")


@dataclass(frozen=True)
class TranslationUnit:
    source: etree._Element
    parts: tuple[Part, ...]
    unit: Unit


@dataclass(frozen=True)
class XliffDocument(ParsedFile):
    root: etree._Element
    version: str
    """The namespace."""
    units: tuple[TranslationUnit, ...]
    target: str
    data: bytes
    choices: int
    """Units left as they are, because they choose between texts (plurals)."""

    @property
    def documents(self) -> Sequence[Sequence[FileSegment]]:  # type: ignore[override]
        return [[segment for one in self.units for segment in one.unit.segments]]

    def render(self, translated: Iterator[Translated]) -> Iterator[str | bytes]:
        if not self.units:
            yield self.data
            return
        for one in self.units:
            parts = one.unit.translated(translated)
            self._write(one, list(one.parts) if parts is None else parts)
        for element in (self.root, *self.root.iter(_V1 + "file")):
            key = "trgLang" if self.version == _V2 else "target-language"
            named = element.get(key) or ""
            if (element is self.root) == (self.version == _V2) and not named.lower().startswith(self.target):
                element.set(key, self.target)
        made = serialised(self.root, self.data)
        yield re.sub(rb"(?<!\r)\n", b"\r\n", made) if b"\r\n" in self.data else made

    def _write(self, one: TranslationUnit, parts: list[Part]) -> None:
        parent = one.source.getparent()
        assert parent is not None
        target = parent.find(self.version + "target")
        if target is None:
            target = etree.Element(self.version + "target")
            segmented = parent.find(self.version + "seg-source")
            before = one.source if segmented is None else segmented  # the order of the schema
            tail, before.tail = before.tail, None
            before.addnext(target)
            before.tail, target.tail = parent.text, tail
        tail = target.tail
        # The source keeps its own inline elements.
        copies = [
            part if part.kind == "words" else Part(part.kind, pair=part.pair, value=_copy(part.value))
            for part in parts
        ]
        write_mixed(target, copies, _WORDS[self.version])
        target.tail = tail
        if self.version == _V1:
            target.set("state", "needs-review-translation")
        else:
            parent.set("state", "translated")

    def remarks(self) -> list[str]:
        how = "in need of a review" if self.version == _V1 else "translated, and not yet reviewed"
        said = [f"{len(self.units)} units are marked as {how}"] if self.units else []
        if self.choices:
            said.append(
                f"{counted(self.choices, 'unit')} left unchanged, with plurals or choices: {{count, plural, …}}"
            )
        return said


def _copy(value: etree._Element | None) -> etree._Element | None:
    return None if value is None else deepcopy(value)


class XliffFormat(DocumentFormat):
    suffixes = (".xlf", ".xliff")
    about = "XLIFF 1.2 and 2.0: units without a finished translation, marked for review"
    writes_file = True

    def parse(self, source: FileSource, options: FileOptions) -> XliffDocument:
        root = parse_xml(source.data, source.path)
        version = next((one for one in _WORDS if root.tag == one + "xliff"), None)
        if version is None:
            raise InputError(f"its root is {root.tag}", path=source.path, expected="XLIFF 1.2 or 2.0")
        holder = version + ("trans-unit" if version == _V1 else "segment")
        units = []
        choices = 0
        for element in root.iter(holder):
            text = element.find(version + "source")
            if text is None or _is_finished(element, version):
                continue
            parts = tuple(read_mixed(text, _WORDS[version], Pairs()))
            if has_choice("".join(part.words for part in parts)):
                choices += 1
                continue
            line: int = element.sourceline  # type: ignore[assignment]  # the stubs do not know its type
            unit = Unit.of(parts, line, options.language)
            if unit is not None:
                units.append(TranslationUnit(text, parts, unit))
        return XliffDocument(root, version, tuple(units), options.target, source.data, choices)


def _is_finished(element: etree._Element, version: str) -> bool:
    """True if a unit is not to be translated, or is already."""
    around = [element, *element.iterancestors()]
    if any(one.get("translate") == "no" for one in around):
        return True
    target = element.find(version + "target")
    if target is None or not "".join(str(text) for text in target.itertext()).strip():
        return False
    state = (target if version == _V1 else element).get("state") or ""
    return element.get("approved") == "yes" or state in _FINISHED or not state
