"""XML in which text and elements alternate (OpenDocument, XLIFF): read into parts, and written again from others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from lxml import etree

from fenster.decode.files.inline import ORDINALS, Part
from fenster.decode.files.runs import Pairs

_MOST_SPACES = 1000


@dataclass(frozen=True)
class Range:
    """A range begins at one empty element and ends at another, which names the first."""

    end: str
    start_keys: tuple[str, ...]
    """Attributes that name it, the first that it has; and those of its end."""
    end_keys: tuple[str, ...]


@dataclass(frozen=True)
class Vocabulary:
    """What the elements of a format mean, by their qualified names. All others stand alone."""

    pairs: frozenset[str] = frozenset()
    """Around words that are translated."""
    dropped: frozenset[str] = frozenset()
    """Of no use in another language: where a page ended."""
    ranges: Mapping[str, Range] = field(default_factory=dict)
    kept: frozenset[tuple[str, str]] = frozenset()
    """Attributes and values that say that something is not translated."""
    spaces: Mapping[str, str] = field(default_factory=dict)
    """Elements that stand for spaces, and the attribute that says how many."""


def read_mixed(element: etree._Element, words: Vocabulary, pairs: Pairs) -> list[Part]:
    """The content of an element. A mark's value is its element, or None where the pair of an element closes."""
    return list(_content(element.text, list(element), words, pairs))


def _content(text: str | None, children: Sequence[etree._Element], words: Vocabulary, pairs: Pairs) -> Iterator[Part]:
    if text:
        yield Part("words", text)
    number = 0
    while number < len(children):
        child = children[number]
        kept = not words.kept.isdisjoint(child.items())
        if kept and words.spaces and not len(child) and child.text in ORDINALS:
            yield Part("words", f"{child.text}{child.tail or ''}")
            number += 1
            continue
        end = None if kept else _range_end(children, number, words.ranges.get(str(child.tag)))
        last = child if end is None else children[end]
        if end is not None:
            yield from pairs.around(list(_content(child.tail, children[number + 1 : end], words, pairs)), child, last)
            number = end
        elif child.tag in words.spaces:
            count = child.get(words.spaces[str(child.tag)]) or "1"
            yield Part("words", " " * (min(int(count), _MOST_SPACES) if count.isdecimal() else 1))
        elif child.tag in words.pairs and not kept:
            yield from pairs.around(list(_content(child.text, list(child), words, pairs)), child)
        elif child.tag not in words.dropped:
            yield Part("single", value=child)
        if last.tail:
            yield Part("words", last.tail)
        number += 1


def _range_end(children: Sequence[etree._Element], number: int, kind: Range | None) -> int | None:
    """Where a range ends, if no other range crosses it."""
    if kind is None:
        return None
    name = _name(children[number], kind.start_keys)
    for later in range(number + 1, len(children)):
        if children[later].tag == children[number].tag:
            return None  # ranges one in another are rare, and which closes which is not worth the trouble
        if children[later].tag == kind.end and _name(children[later], kind.end_keys) == name:
            return later
    return None


def _name(element: etree._Element, keys: Iterable[str]) -> str | None:
    return next((element.get(key) for key in keys if element.get(key)), None)


def write_mixed(element: etree._Element, parts: Iterable[Part], words: Vocabulary) -> None:
    """Replace the content of an element."""
    for child in list(element):
        element.remove(child)
    element.text = None
    inside = [element]
    for part in parts:
        if part.kind == "words":
            _append_words(inside[-1], part.words, words)
        elif part.kind == "open" and part.value.tag in words.pairs:
            inside.append(_shell(part.value))
            inside[-2].append(inside[-1])
        elif part.kind == "close" and part.value is None:
            inside.pop()
        else:
            part.value.tail = None
            inside[-1].append(part.value)


def _append_words(element: etree._Element, text: str, words: Vocabulary) -> None:
    """Text, its runs of spaces as elements where the format has them: it would ignore them otherwise."""
    for number, piece in enumerate(re.split(r"(  +|^ +)", text) if words.spaces else [text]):
        if number % 2 == 0:
            _append_text(element, piece)
            continue
        at_start = number == 1 and not text[: len(piece)].strip() and not element.text and not len(element)
        tag, key = next(iter(words.spaces.items()))
        _append_text(element, "" if at_start else " ")
        if len(piece) > 1 or at_start:
            etree.SubElement(element, tag, {key: str(len(piece) - (not at_start))})


def _append_text(element: etree._Element, text: str) -> None:
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text


def _shell(original: etree._Element) -> etree._Element:
    """An element without its content."""
    shell = deepcopy(original)
    for child in list(shell):
        shell.remove(child)
    shell.text = shell.tail = None
    return shell
