"""HTML as tokens that know where they are in the text, so that all that is not rewritten stays as it is."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Literal

Kind = Literal["start", "end", "empty", "text", "other"]
_ATTRIBUTE = re.compile(r"([^\s=/>\"'<]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+)))?")
_TEMPLATE = re.compile(r"<%.*?%>", re.DOTALL)
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}


@dataclass(frozen=True)
class Token:
    """`text[start:end]`: a tag, words, or something else (a comment, a declaration)."""

    kind: Kind
    start: int
    end: int
    name: str = ""
    attributes: tuple[tuple[str, str | None], ...] = ()

    def get(self, name: str) -> str | None:
        return next((value for key, value in self.attributes if key == name), None)


def tokens(text: str) -> list[Token]:
    scanner = _Scanner(text)
    # No tag ends after `last`, and no template after `end`: from every < there one would be looked for in vain.
    last, end = text.rfind(">") + 1, text.rfind("%>") + 2 if "%>" in text else 0
    scanner.feed(_TEMPLATE.sub(_as_instruction, text[:end]) + text[end:last])
    scanner.close()
    if last < len(text):
        scanner.events.append((last, "text", "", ()))
    starts = [start for start, *_ in scanner.events]
    ends = [*starts[1:], len(text)] if starts else []
    return [
        Token(kind, start, end, name, attributes)
        for (start, kind, name, attributes), end in zip(scanner.events, ends, strict=True)
        if end > start
    ]


def _as_instruction(template: re.Match[str]) -> str:
    """`<%= name %>` as a processing instruction of the same length, which the parser knows."""
    return "<?" + re.sub(r"[<>]", " ", template.group()[2:-2]) + " >"


def closings(listed: list[Token]) -> dict[int, int]:
    """By the number of the token that begins an element, that of the token after it; elements that are never closed
    are missing."""
    after: dict[int, int] = {}
    open_elements: defaultdict[str, list[int]] = defaultdict(list)
    for number, token in enumerate(listed):
        if token.kind == "start":
            open_elements[token.name].append(number)
        elif token.kind == "end" and open_elements[token.name]:
            after[open_elements[token.name].pop()] = number + 1
    return after


def attribute_spans(tag: str) -> dict[str, tuple[int, int, str]]:
    """Where the values of a tag's attributes are, and their quotes; the first of a name counts."""
    spans: dict[str, tuple[int, int, str]] = {}
    for match in _ATTRIBUTE.finditer(tag, re.match(r"<[^\s/>]*", tag).end()):  # type: ignore[union-attr]
        group = next((number for number in (2, 3, 4) if match[number] is not None), None)
        if group is not None:
            spans.setdefault(match[1].lower(), (*match.span(group), ('"', "'", "")[group - 2]))
    return spans


class _Scanner(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.events: list[tuple[int, Kind, str, tuple[tuple[str, str | None], ...]]] = []
        self._lines = [0]
        for line in text.split("\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)

    def _note(self, kind: Kind, name: str = "", attributes: tuple[tuple[str, str | None], ...] = ()) -> None:
        line, column = self.getpos()
        self.events.append((self._lines[line - 1] + column, kind, name, attributes))

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        try:
            return super().parse_marked_section(i, report)
        except AssertionError:  # "<![" without a name: a comment, as browsers have it
            return self.parse_bogus_comment(i)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note("empty" if tag in VOID else "start", tag, tuple(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note("empty", tag, tuple(attrs))

    def handle_endtag(self, tag: str) -> None:
        self._note("end", tag)

    def handle_data(self, data: str) -> None:
        self._note("text")

    def handle_entityref(self, name: str) -> None:
        self._note("text")

    def handle_charref(self, name: str) -> None:
        self._note("text")

    def handle_comment(self, data: str) -> None:
        self._note("other")

    def handle_decl(self, decl: str) -> None:
        self._note("other")

    def handle_pi(self, data: str) -> None:
        self._note("other")

    def unknown_decl(self, data: str) -> None:
        self._note("other")
