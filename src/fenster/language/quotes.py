"""Quotation marks: straight (") or typographic („ “), one style per document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeVar

QuoteStyle = Literal["straight", "typographic"]
QuotePolicy = Literal["auto", "keep", "model"]
Pair = tuple[str, str]
STRAIGHT: Pair = ('"', '"')
Part = TypeVar("Part")

_TYPOGRAPHIC = "“”„‟«»"
_MARK = re.compile(rf'["{_TYPOGRAPHIC}]')
_OPENS_AFTER = frozenset(" \u00a0\u202f([{<–—-/=:>\u2018\u201a'")
_CLOSES_BEFORE = frozenset(" \u00a0\u202f)]}.,;:!?…–—")
_INCHES = re.compile(r'(?<=\d)"(?!\w)')


def quote_style(text: str) -> QuoteStyle | None:
    """The style of a text's double quotation marks; None if it has none, or both."""
    straight = '"' in _INCHES.sub("", text)
    typographic = any(mark in text for mark in _TYPOGRAPHIC)
    if straight == typographic:
        return None
    return "straight" if straight else "typographic"


def with_quotes(parts: Sequence[Part | str], pair: Pair) -> list[Part | str]:
    """The parts of a text (what is no string is protected, and counts as a word) with all double quotation marks
    written as `pair`, opening and closing; nothing changes its length."""
    written: list[Part | str] = []
    is_open = False
    for number, part in enumerate(parts):
        if not isinstance(part, str):
            written.append(part)
            continue
        around = "x" * (number > 0), "x" * (number < len(parts) - 1)
        text = "".join((around[0], part, around[1]))
        marks = list(part)
        for match in _MARK.finditer(part):
            at = match.start() + len(around[0])
            is_open = _opens(match[0], text[:at][-1:], text[at + 1 :][:1], is_open)
            marks[match.start()] = pair[0] if is_open else pair[1]
        written.append("".join(marks))
    return written


def _opens(mark: str, before: str, after: str, is_open: bool) -> bool:
    """True if a mark begins a quotation. Where it stands says so; if that is not clear, marks take turns."""
    if mark == "„":
        return True
    can_open = not before or before in _OPENS_AFTER
    can_close = not after or after in _CLOSES_BEFORE
    if can_open != can_close:
        return can_open
    return not is_open


class DocumentQuotes:
    """The quotation marks of one document's translation. Typographic marks of the source become the `pair` of the
    target language. Straight ones stay straight with the policy `keep`; with `auto` they are what the model makes of
    the first of them, in the whole document: novels are typeset, and messages of programs are not. With `model` all
    is left to the model."""

    def __init__(self, pair: Pair | None, policy: QuotePolicy) -> None:
        self._pair, self._policy = pair, policy
        self._straight: QuoteStyle | None = "straight" if policy == "keep" else None

    def learn(self, source: str, target: str) -> None:
        """What straight marks become, from a translation of the document that has some."""
        if self._straight is None and quote_style(source) == "straight":
            self._straight = quote_style(target)

    def pair_for(self, source: str) -> Pair | None:
        """The marks for the translation of a text; None if they are to stay as the model has written them."""
        style = quote_style(source)
        wanted = self._straight if style == "straight" else style
        if self._policy == "model" or wanted is None:
            return None
        return STRAIGHT if wanted == "straight" else self._pair
