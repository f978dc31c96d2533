"""Text in runs, as office programs keep it: every change of format begins a new run.

The format of most characters of a paragraph is its base; what has another format is a pair of marks around its words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from lxml import etree

from fenster.decode.files.inline import Part


@dataclass(frozen=True)
class Format:
    """The properties of a run; two are the same if they look the same."""

    element: etree._Element | None = field(compare=False)
    key: str = ""

    @classmethod
    def of(cls, element: etree._Element | None, ignored: Iterable[str] = ()) -> Format:
        """`ignored` are properties that do not show, by their qualified names."""
        if element is None:
            return cls(None)
        skipped = set(ignored)
        shown = [etree.tostring(child, method="c14n") for child in element if child.tag not in skipped]
        attributes = sorted((name, value) for name, value in element.attrib.items() if name not in skipped)
        return cls(element, repr((attributes, sorted(shown))) if attributes or shown else "")


class Pairs:
    """Numbers for pairs of marks."""

    def __init__(self) -> None:
        self._numbers = count()

    def around(self, inner: Sequence[Part], value: Any, closing: Any = None) -> list[Part]:
        pair = next(self._numbers)
        return [Part("open", pair=pair, value=value), *inner, Part("close", pair=pair, value=closing)]


def base_format(parts: Iterable[Part]) -> Format:
    """The format that most characters have outside of pairs (links have a format of their own), or anywhere if there
    are none outside; words carry theirs as their value."""
    everywhere, outside, depth = Counter[Format](), Counter[Format](), 0
    for part in parts:
        depth += (part.kind == "open") - (part.kind == "close")
        if part.kind == "words":
            size = sum(map(str.isalnum, part.words))
            everywhere[part.value] += size
            outside[part.value] += 0 if depth else size
    sizes = outside if outside.total() else everywhere
    return max(sizes, key=lambda one: sizes[one], default=Format(None))


def with_formats(parts: Sequence[Part], base: Format, pairs: Pairs) -> list[Part]:
    """Words of the base format as they are, and others between marks; neighbours of one format are joined."""
    made: list[Part] = []
    for part in parts:
        last = made[-1] if made else None
        if part.kind == "words" and last is not None and last.kind == "words" and last.value == part.value:
            made[-1] = Part("words", last.words + part.words, value=part.value)
        else:
            made.append(part)
    formatted: list[Part] = []
    for part in made:
        if part.kind == "words" and part.value != base and part.words.strip():
            formatted += pairs.around([Part("words", part.words)], part.value)
        else:
            formatted.append(part)
    return formatted
