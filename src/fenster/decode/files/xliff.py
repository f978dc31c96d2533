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
_HOLDERS = {_V1: "trans-unit", _V2: "segment"}
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
_NOT_TRANSLATED = ("new", "needs-translation")
"""States of targets that hold something else than a translation, such as the source."""


@dataclass(frozen=True)
class TranslationUnit:
    source: etree._Element
    """Or a segment of it: a `mrk` of the `seg-source`."""
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
    kept: int
    """Units that have a translation, and segments of units."""

    @property
    def documents(self) -> Sequence[Sequence[FileSegment]]:
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
        unit = next(one.source.iterancestors(self.version + _HOLDERS[self.version]))
        target = whole = _target_of(unit, self.version)
        if one.source.tag == _V1 + "mrk":
            target = _segment_of(whole, one.source)
        tail = target.tail
        # The source keeps its own inline elements.
        copies = [
            part if part.kind == "words" else Part(part.kind, pair=part.pair, value=_copy(part.value))
            for part in parts
        ]
        write_mixed(target, copies, _WORDS[self.version])
        target.tail = tail
        if self.version == _V1:
            whole.set("state", "needs-review-translation")
        else:
            unit.set("state", "translated")

    def remarks(self) -> list[str]:
        how = "needing review" if self.version == _V1 else "translated, and not yet reviewed"
        said = [f"{len(self.units)} units are marked as {how}"] if self.units else []
        if self.choices:
            said.append(
                f"{counted(self.choices, 'unit')} left unchanged, with plurals or choices: {{count, plural, …}}"
            )
        if self.kept:
            said.append(f"{counted(self.kept, 'existing translation')} left unchanged")
        return said


def _target_of(unit: etree._Element, version: str) -> etree._Element:
    """The target of a unit, made if there is none."""
    target = unit.find(version + "target")
    if target is None:
        target = etree.Element(version + "target")
        source, segmented = unit.find(version + "source"), unit.find(version + "seg-source")
        before = source if segmented is None else segmented  # the order of the schema
        assert before is not None
        tail, before.tail = before.tail, None
        before.addnext(target)
        before.tail, target.tail = unit.text, tail
    return target


def _segments(element: etree._Element | None) -> dict[str, etree._Element]:
    """The segments of a `seg-source` or `target`, by their numbers."""
    marks = [] if element is None else list(element.iter(_V1 + "mrk"))
    return {mark.get("mid") or "": mark for mark in marks if mark.get("mtype") == "seg"}


def _segment_of(target: etree._Element, source: etree._Element) -> etree._Element:
    """The segment of a target for a segment of the source. A target without segments gets all of them, empty; one
    that has some gets this one, behind that which precedes it in the source."""
    number, existing = source.get("mid") or "", _segments(target)
    if number in existing:
        return existing[number]
    segmented = next(source.iterancestors(_V1 + "seg-source"))
    if not existing:
        skeleton = deepcopy(segmented)
        for segment in _segments(skeleton).values():
            _empty(segment)
        _empty(target)
        target.text = skeleton.text
        target.extend(skeleton)
        return _segments(target)[number]
    made = deepcopy(source)
    _empty(made)
    numbers = list(_segments(segmented))
    before = next((one for one in reversed(numbers[: numbers.index(number)]) if one in existing), None)
    if before is None:
        tail = source.tail
        next(iter(existing.values())).addprevious(made)
    else:
        tail, existing[before].tail = existing[before].tail, None
        existing[before].addnext(made)
        existing[before].tail = _segments(segmented)[before].tail
    made.tail = tail
    return made


def _empty(element: etree._Element) -> None:
    element.text = None
    for child in list(element):
        element.remove(child)


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
        units = []
        choices = kept = 0
        for element in root.iter(version + _HOLDERS[version]):
            if any(one.get("translate") == "no" for one in (element, *element.iterancestors())):
                continue
            target = element.find(version + "target")
            replaced = target is not None and target.get("state") in _NOT_TRANSLATED
            for text, translation in _translations(element, target, version):
                if _has_words(translation) and not replaced:
                    kept += 1
                    continue
                parts = tuple(read_mixed(text, _WORDS[version], Pairs()))
                if has_choice("".join(part.words for part in parts)):
                    choices += 1
                    continue
                line: int = element.sourceline  # type: ignore[assignment]  # the stubs do not know its type
                unit = Unit.of(parts, line, options.language)
                if unit is not None:
                    units.append(TranslationUnit(text, parts, unit))
        return XliffDocument(root, version, tuple(units), options.target, source.data, choices, kept)


def _translations(
    unit: etree._Element, target: etree._Element | None, version: str
) -> Iterator[tuple[etree._Element, etree._Element | None]]:
    """The source of a unit, or each of its segments, with the translation that the file has."""
    segments, translated = _segments(unit.find(_V1 + "seg-source")), _segments(target)
    for number, segment in segments.items():
        yield segment, translated.get(number) if translated else target
    source = unit.find(version + "source")
    if not segments and source is not None:
        yield source, target


def _has_words(element: etree._Element | None) -> bool:
    return element is not None and bool("".join(str(text) for text in element.itertext()).strip())
