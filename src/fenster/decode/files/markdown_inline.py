"""The inline part of Markdown: which characters of it are words and which are markup.

markdown-it says what a paragraph consists of, but not where; this walks along the text and its tokens together.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from markdown_it.token import Token

from fenster.data.text import SPACES
from fenster.decode.files.html_tokens import VOID
from fenster.document import Mark

_SOFT = re.compile(r"[ \t]*\n[ \t]*")
_HARD = re.compile(r"(?: {2,}|\\)\n[ \t]*")
_ENTITY = re.compile(r"&#?\w+;")
_PUNCTUATION = frozenset("'\"‘’‚“”„«»‹›–—…")  # what is read as it is shown; other entities are marks
_AUTOLINK = re.compile(r"<[^<>\s]*>")
_BEFORE = re.compile(  # a task's box, an alert's kind
    r"\[[ xX]\][ \t]+(?=\S)|\[![A-Za-z]+\][-+]?(?:[ \t]*\n[ \t]*|[ \t]+|$)"
)
_NOTE = re.compile(r"\[\^[^\]\s]+\]")
_WIKI_LINK = re.compile(r"\[\[[^\[\]\n|]+(?:\|[^\[\]\n]+)?\]\]")
_ATTRIBUTES = re.compile(r"\{:[^{}\n]*\}")  # of kramdown
_HIGHLIGHT = re.compile(r"==(?=[^\s=])[^\n=]*[^\s=]==(?!=)")
_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*)[^<>]*?(/?)>", re.DOTALL)


class MarkdownError(Exception):
    """The text is not what its tokens say: it is left as it is."""


@dataclass
class Unit:
    """Text between hard breaks: `content[start:end]` of the paragraph, with single spaces instead of line breaks."""

    start: int
    end: int = 0
    text: str = ""
    marks: list[Mark] = field(default_factory=list)

    def begin_after(self, raw: str) -> None:
        """Leave out what stands before the text and is not part of it."""
        width = len(SPACES.sub(" ", raw))
        if self.start + len(raw) > self.end or any(mark.start < width for mark in self.marks):
            raise MarkdownError
        self.start, self.text = self.start + len(raw), self.text[width:]
        self.marks = [mark._replace(start=mark.start - width, end=mark.end - width) for mark in self.marks]


def units(content: str, children: Sequence[Token]) -> list[Unit]:
    """The units of a paragraph. Raises MarkdownError."""
    walk = _Walk(content)
    before = _BEFORE.match(content)
    walk.children(children)
    walk.finish()
    if walk.at != len(content.rstrip()):
        raise MarkdownError
    if before is not None and walk.units[0].text.rstrip() == before.group().rstrip():
        del walk.units[0]
    elif before is not None:
        walk.units[0].begin_after(before.group())
    return [unit for unit in walk.units if unit.text]


class _Walk:
    def __init__(self, content: str) -> None:
        self.content, self.at = content, 0
        self.units: list[Unit] = []
        self._unit = Unit(0)
        self._open: list[tuple[int, int]] = []  # pairs, and where the text between them begins
        self._pairs = 0

    def children(self, tokens: Sequence[Token]) -> None:
        skipping = False
        tags = _paired_tags(tokens)
        for number, token in enumerate(tokens):
            if number in tags:
                self._literal(token.content, opens=tags[number])
            elif skipping:
                skipping = token.type != "link_close"
            elif token.type == "link_open" and token.markup == "autolink":
                self._take(_AUTOLINK, mark=True)
                skipping = True
            else:
                self._token(token)

    def _token(self, token: Token) -> None:
        match token.type:
            case "text" | "text_special":
                self._text(token.content)
            case "softbreak":
                self._take(_SOFT)
            case "hardbreak":
                self.finish()
                self._take(_HARD)
                self._unit = Unit(self.at)
            case "code_inline":
                ticks = re.escape(token.markup)
                self._take(re.compile(rf"{ticks}(?!`).+?(?<!`){ticks}(?!`)", re.DOTALL), mark=True)
            case "html_inline":
                self._literal(token.content)
            case "link_open":
                self._literal("[", opens=True)
            case "link_close":
                self._close_link()
            case "image":
                self._literal("![", opens=True)
                self.children(token.children or [])
                self._close_link()
            case kind if kind.endswith("_open"):
                self._literal(token.markup, opens=True)
            case kind if kind.endswith("_close"):
                self._literal(token.markup, opens=False)
            case _:
                raise MarkdownError

    def _text(self, text: str) -> None:
        """Characters as they are, escaped, or as entities."""
        rest = text
        while rest:
            here = self.content[self.at : self.at + 1]
            entity = _ENTITY.match(self.content, self.at) if here == "&" else None
            known = html.unescape(entity.group()) if entity else ""
            other = self._other_mark(rest)
            if other:
                rest = rest[len(other) :]
            elif here == "\\" and self.content[self.at + 1 : self.at + 2] == rest[0]:
                self._add(self.content[self.at : self.at + 2], mark=True)
                rest = rest[1:]
            elif entity and rest.startswith(known) and known != entity.group():
                shown = known if known.isalpha() or known in _PUNCTUATION else None
                self._add(entity.group(), mark=shown is None, shown=shown)
                rest = rest[len(known) :]
            elif here == rest[0]:
                self._add(here)
                rest = rest[1:]
            else:
                raise MarkdownError

    def _other_mark(self, rest: str) -> str:
        """What is markup in other dialects, read; nothing if there is none here."""
        matches = (pattern.match(rest) for pattern in (_NOTE, _WIKI_LINK, _ATTRIBUTES, _HIGHLIGHT))
        match = next((one for one in matches if one is not None), None)
        if match is None or not self.content.startswith(match.group(), self.at):
            return ""
        if match.re is _HIGHLIGHT:
            self._literal("==", opens=True)
            self._text(match.group()[2:-2])
            self._literal("==", opens=False)
        else:
            target, bar, shown = match.group().removesuffix("]]").partition("|")
            if match.re is not _WIKI_LINK or not bar:
                self._add(match.group(), mark=True)
            else:
                self._literal(target + bar, opens=True)
                self._text(shown)
                self._literal("]]", opens=False)
        return match.group()

    def _take(self, pattern: re.Pattern[str], mark: bool = False) -> None:
        match = pattern.match(self.content, self.at)
        if match is None:
            raise MarkdownError
        if mark:
            self._add(match.group(), mark=True)
        else:
            self.at = match.end()
            if self._unit.text and not self._unit.text.endswith(" "):
                self._unit.text += " "

    def _literal(self, text: str, opens: bool | None = None) -> None:
        if not self.content.startswith(text, self.at):
            raise MarkdownError
        pair = None
        if opens:
            self._pairs += 1
            self._open.append((self._pairs, self.at + len(text)))
            pair = self._pairs
        elif opens is False:
            if not self._open:
                raise MarkdownError
            pair, _ = self._open.pop()
        self._add(text, mark=True, pair=pair, opens=bool(opens))

    def _close_link(self) -> None:
        end = _link_end(self.content, self.at)
        raw = self.content[self.at : end]
        if raw not in ("]", "][]") or not self._open:
            self._literal(raw, opens=False)
            return
        # The text is the label of the link's definition, too, which stays.
        pair, begins = self._open.pop()
        label = " ".join(self.content[begins : self.at].split())
        shown = raw if label.startswith("^") else f"][{label}]"
        self._add(raw, mark=True, pair=pair, shown=shown)

    def _add(
        self, raw: str, mark: bool = False, pair: int | None = None, opens: bool = False, shown: str | None = None
    ) -> None:
        if shown is None:
            shown = " ".join(raw.split("\n")) if mark else SPACES.sub(" ", raw)
        if shown == " " and (not self._unit.text or self._unit.text.endswith(" ")):
            shown = ""  # white space is normalised here, since marks count characters
        begin = len(self._unit.text)
        self._unit.text += shown
        if mark:
            self._unit.marks.append(Mark(begin, len(self._unit.text), pair, opens))
        self.at += len(raw)

    def finish(self) -> None:
        self._unit.end = self.at
        self.units.append(self._unit)


def _paired_tags(tokens: Sequence[Token]) -> dict[int, bool]:
    """Which tokens are tags of HTML whose partner is among them, too, nested with all other pairs: True for those
    that open."""
    pairs: dict[int, bool] = {}
    opened: list[tuple[str, int]] = []
    for number, token in enumerate(tokens):
        tag = _TAG.fullmatch(token.content) if token.type == "html_inline" else None
        if tag is not None and tag[1] and opened and opened[-1][0] == tag[2].lower():
            pairs |= {opened.pop()[1]: True, number: False}
        elif tag is not None and not tag[1] and not tag[3] and tag[2].lower() not in VOID:
            opened.append((tag[2].lower(), number))
        elif token.type.endswith("_open"):
            opened.append((token.type.removesuffix("_open"), number))
        elif token.type.endswith("_close"):
            kind = token.type.removesuffix("_close")
            while opened and opened.pop()[0] != kind:  # tags that are not closed inside
                pass
    return pairs


def _link_end(content: str, at: int) -> int:
    """Where a link that closes at `at` ends, its target included."""
    if content[at : at + 1] != "]":
        raise MarkdownError
    after = content[at + 1 : at + 2]
    if after == "[":
        return content.index("]", at + 1) + 1 if "]" in content[at + 1 :] else at + 1
    if after != "(":
        return at + 1
    depth, quote, number = 0, "", at + 1
    while number < len(content):
        character = content[number]
        if character == "\\":
            number += 1
        elif quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and content[number - 1] in " \n":
            quote = character
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if not depth:
                return number + 1
        number += 1
    raise MarkdownError
