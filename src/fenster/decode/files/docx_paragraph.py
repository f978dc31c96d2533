"""A paragraph of WordprocessingML: read into parts, and written again from translated ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass

from lxml import etree

from fenster.decode.files.inline import ORDINALS, Part, Pieces, cut_in_units, translated_pieces
from fenster.decode.files.runs import Format, Pairs, base_format, with_formats
from fenster.decode.result import Translated

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_CONTAINERS = {W + name for name in ("hyperlink", "ins", "moveTo", "smartTag", "bdo", "dir", "customXml")}
_DROPPED = {W + name for name in ("proofErr", "lastRenderedPageBreak")}
_RANGES = {
    W + start: W + end
    for start, end in (
        ("bookmarkStart", "bookmarkEnd"),
        ("commentRangeStart", "commentRangeEnd"),
        ("permStart", "permEnd"),
    )
}
_BREAKS = {W + name for name in ("tab", "br", "cr", "ptab")}
_LETTERS = {W + "noBreakHyphen": "\u2011", W + "softHyphen": "\u00ad"}
_CODE = re.compile(r"code|verbatim|preformatted|listing", re.IGNORECASE)  # styles of what is not prose
_UNSEEN = (W + "lang", W + "noProof", W + "rsidR", W + "rsidRPr")


@dataclass(frozen=True)
class Run:
    """What stands alone inside a run."""

    format: Format
    nodes: tuple[etree._Element, ...]


@dataclass(frozen=True)
class Nodes:
    """Children of the paragraph, or of a container, as they are."""

    nodes: tuple[etree._Element, ...]


@dataclass(frozen=True)
class Paragraph:
    element: etree._Element
    base: Format
    pieces: Pieces

    @classmethod
    def read(cls, element: etree._Element, line: int, language: str) -> Paragraph | None:
        """None if there is nothing to translate."""
        if _is_code(element.find(f"{W}pPr/{W}pStyle")):
            return None
        pairs = Pairs()
        parts = list(_siblings(list(element), pairs))
        base = base_format(parts)
        formatted = [with_formats(piece, base, pairs) for piece in _between_breaks(parts)]
        pieces = cut_in_units(formatted, line, language)
        return cls(element, base, pieces) if any(unit for _, unit in pieces) else None

    def write(self, translations: Iterator[Translated], locale: str) -> bool:
        """Put the translation into the paragraph; False if nothing changed."""
        made = translated_pieces(self.pieces, translations)
        if made is not None:
            for child in list(self.element):
                if child.tag != W + "pPr":
                    self.element.remove(child)
            _Writer(self.element, self.base, locale).write(made)
        return made is not None


def _siblings(children: Sequence[etree._Element], pairs: Pairs) -> Iterator[Part]:
    """The parts of neighbouring elements; ranges that begin and end among them are pairs."""
    number = 0
    while number < len(children):
        child = children[number]
        end = _range_end(children, number)
        field_end = _field_end(children, number)
        if str(child.tag).endswith("Pr") or child.tag in _DROPPED:
            pass
        elif end is not None:
            inner = list(_siblings(children[number + 1 : end], pairs))
            # The sign of a comment stands behind its range.
            last = end + any(one.find(W + "commentReference") is not None for one in children[end + 1 : end + 2])
            yield from pairs.around(inner, Nodes((child,)), Nodes(tuple(children[end : last + 1])))
            number = last
        elif field_end is not None:
            yield from _field(children[number : field_end + 1], pairs)
            number = field_end
        elif child.tag == W + "r":
            yield from _run(child)
        elif child.tag == W + "del" and [one.tag for one in children[number + 1 : number + 2]] == [W + "ins"]:
            # What was deleted stands before what replaces it, wherever that goes.
            number += 1
            inserted = pairs.around(list(_siblings(list(children[number]), pairs)), children[number])
            yield from pairs.around(inserted, Nodes((child,)))
        elif child.tag == W + "ins" and [one.tag for one in children[number + 1 : number + 2]] == [W + "del"]:
            # And what was deleted behind an insertion stays behind it, and does not get into it.
            number += 1
            inserted = pairs.around(list(_siblings(list(child), pairs)), child)
            yield from pairs.around(inserted, Nodes(()), Nodes((children[number],)))
        elif child.tag in _CONTAINERS:
            yield from pairs.around(list(_siblings(list(child), pairs)), child)
        elif child.tag == W + "sdt" and child.find(W + "sdtContent") is not None:
            content = child.find(W + "sdtContent")
            assert content is not None
            yield from pairs.around(list(_siblings(list(content), pairs)), child)
        else:
            yield Part("single", value=Nodes((child,)))
        number += 1


def _range_end(children: Sequence[etree._Element], number: int) -> int | None:
    """Where the range that begins here ends, if there are runs in it and no range crosses it."""
    closing = _RANGES.get(str(children[number].tag))
    identity = children[number].get(W + "id")
    if closing is None:
        return None
    for later in range(number + 1, len(children)):
        if children[later].tag == closing and children[later].get(W + "id") == identity:
            inside = children[number + 1 : later]
            opened = [child.get(W + "id") for child in inside if child.tag in _RANGES]
            closed = [child.get(W + "id") for child in inside if child.tag in _RANGES.values()]
            return later if sorted(map(str, opened)) == sorted(map(str, closed)) else None
    return None


def _field_end(children: Sequence[etree._Element], number: int) -> int | None:
    """Where the complex field that begins in this run ends."""
    depth = 0
    for later in range(number, len(children)):
        kinds = [one.get(W + "fldCharType") for one in children[later].findall(W + "fldChar")]
        depth += kinds.count("begin") - kinds.count("end")
        if later == number and not depth:
            return None
        if depth == 0:
            return later
    return None


def _field(runs: Sequence[etree._Element], pairs: Pairs) -> Iterator[Part]:
    """A link whose words can be translated, or any other field as it is."""
    instruction = "".join(one.text or "" for run in runs for one in run.iter(W + "instrText"))
    separators = [
        number
        for number, run in enumerate(runs)
        if any(one.get(W + "fldCharType") == "separate" for one in run.findall(W + "fldChar"))
    ]
    if instruction.strip().upper().startswith("HYPERLINK") and len(separators) == 1:
        cut = separators[0] + 1
        inner = list(_siblings(runs[cut:-1], pairs))
        yield from pairs.around(inner, Nodes(tuple(runs[:cut])), Nodes((runs[-1],)))
    else:
        yield Part("single", value=Nodes(tuple(runs)))


def _run(run: etree._Element) -> Iterator[Part]:
    raised = run.find(f"{W}rPr/{W}vertAlign")  # the sign of a footnote, m²
    is_raised = raised is not None and raised.get(W + "val") != "baseline"
    is_ordinal = is_raised and "".join(map(str, run.itertext())) in ORDINALS
    if _is_code(run.find(f"{W}rPr/{W}rStyle")) or (is_raised and not is_ordinal):
        yield Part("single", value=Nodes((run,)))
        return
    properties = run.find(W + "rPr")
    if is_ordinal and properties is not None:
        properties = deepcopy(properties)
        for one in properties.findall(W + "vertAlign"):
            properties.remove(one)
    shown = Format.of(properties, _UNSEEN)
    for child in run:
        if child.tag == W + "t":
            yield Part("words", child.text or "", value=shown)
        elif child.tag in _LETTERS:
            yield Part("words", _LETTERS[str(child.tag)], value=shown)
        elif child.tag != W + "rPr" and child.tag not in _DROPPED:
            yield Part("single", value=Run(shown, (child,)))


def _is_code(style: etree._Element | None) -> bool:
    return style is not None and _CODE.search(style.get(W + "val") or "") is not None


def _between_breaks(parts: Iterable[Part]) -> list[list[Part]]:
    """Parts cut at tabs and line breaks that no pair encloses; the breaks stand alone."""
    pieces: list[list[Part]] = [[]]
    depth = 0
    for part in parts:
        depth += (part.kind == "open") - (part.kind == "close")
        is_break = isinstance(part.value, Run) and part.value.nodes[0].tag in _BREAKS
        if is_break and depth == 0:
            pieces += [[part], []]
        else:
            pieces[-1].append(part)
    return [piece for piece in pieces if piece]


class _Writer:
    def __init__(self, paragraph: etree._Element, base: Format, locale: str) -> None:
        self._at = [(paragraph, base)]
        """The elements that are open, innermost last, and the format inside each."""
        self._locale = locale

    def write(self, parts: Iterable[Part]) -> None:
        for part in parts:
            element, shown = self._at[-1]
            value = part.value
            if part.kind == "words":
                self._words(part.words, value if isinstance(value, Format) else shown)
            elif part.kind == "close":
                self._at.pop()
                self._nodes(value)
            elif part.kind == "single":
                self._nodes(value)
            elif isinstance(value, Format):
                self._at.append((element, value))
            elif isinstance(value, Nodes):
                self._nodes(value)
                self._at.append((element, shown))
            else:
                self._at.append((self._shell(element, value), shown))

    def _words(self, words: str, shown: Format) -> None:
        run = etree.SubElement(self._at[-1][0], W + "r")
        self._properties(run, shown)
        text = etree.SubElement(run, W + "t")
        text.text = words
        if words != words.strip():
            text.set(_SPACE, "preserve")

    def _properties(self, run: etree._Element, shown: Format) -> None:
        if shown.element is not None:
            properties = deepcopy(shown.element)
            for language in properties.findall(W + "lang"):
                if language.get(W + "val"):
                    language.set(W + "val", self._locale)
            run.append(properties)

    def _nodes(self, value: object) -> None:
        element = self._at[-1][0]
        if isinstance(value, Nodes):
            element.extend(value.nodes)
        elif isinstance(value, Run):
            run = etree.SubElement(element, W + "r")
            if value.format.element is not None:
                run.append(deepcopy(value.format.element))
            run.extend(value.nodes)

    def _shell(self, parent: etree._Element, original: etree._Element) -> etree._Element:
        """A container without its words, ready for new ones."""
        if original.tag == W + "sdt":
            shell = deepcopy(original)
            content = shell.find(W + "sdtContent")
            assert content is not None
            for child in list(content):
                content.remove(child)
            parent.append(shell)
            return content
        shell = deepcopy(original)
        for child in list(shell):
            if not str(child.tag).endswith("Pr"):
                shell.remove(child)
        parent.append(shell)
        return shell
