"""HTML and XHTML: the words of blocks, titles and some attributes are translated, and inline elements move with their
words. Scripts, styles, code, what says translate="no" and all else stay as they are, byte for byte."""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import count

from fenster.decode.files.base import DocumentFormat, FileOptions, FileSegment, ParsedFile
from fenster.decode.files.html_encoding import decoded
from fenster.decode.files.html_tokens import Token, attribute_spans, closings, tokens
from fenster.decode.files.inline import ORDINALS, Part, Unit
from fenster.decode.files.line_index import LineIndex
from fenster.decode.result import Translated
from fenster.io.files import FileSource

_INLINE = {"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i", "ins"}
_INLINE |= {"label", "mark", "q", "s", "small", "span", "strike", "strong", "time", "tt", "u"}
_OPAQUE = {"sub", "sup", "code", "kbd", "samp", "var", "tt", "svg", "math", "img", "input", "wbr"}
_OPAQUE |= {"object", "audio", "video", "canvas"}
"""Inline, and never looked into."""
_SKIPPED = {"script", "style", "pre", "textarea", "template", "iframe", "noscript", "xmp", "listing", "map", "ruby"}
_ATTRIBUTES = ("title", "alt", "placeholder", "aria-label")
_ABOUT = {"description", "og:title", "og:description", "og:image:alt", "twitter:title", "twitter:description"}
"""Kinds of `meta` whose content is text."""
_LABELLED = {"option", "optgroup", "track"}
_STATEMENT = re.compile(r"\{%[^{}]*%\}")  # of Jinja, Twig, Django, Liquid


Change = tuple[int, int, str]
"""From, to, new text."""


@dataclass(frozen=True)
class Slot:
    """`text[start:end]` is translated: the value of an attribute, or a unit with inline elements."""

    start: int
    end: int
    unit: Unit
    quote: str = ""
    """Around the value of an attribute."""


@dataclass(frozen=True)
class HtmlText:
    """HTML in which slots are rewritten, and nothing else but the language that it says it is in."""

    text: str
    slots: tuple[Slot, ...]
    """Those of attributes before the unit that they stand in."""
    language: tuple[tuple[int, int, str], ...]
    """Where the language is named, or would be, and what would be written there."""

    def render(self, translated: Iterator[Translated]) -> str:
        changes: list[Change] = []  # none inside another
        attributes: list[Change] = []
        for slot in self.slots:
            parts = slot.unit.translated(translated)
            if parts is None:
                continue
            change = (slot.start, slot.end, "".join(self._written(part, slot.quote, attributes) for part in parts))
            if slot.quote:
                attributes.append(change)
            else:
                changes.append(change)
        inside = [(start, end) for start, end, _ in changes]
        changes += [one for one in attributes if not _is_inside(one, inside)]
        changes += self.language if changes else ()
        return _rewritten(self.text, 0, len(self.text), sorted(changes))

    def _written(self, part: Part, quote: str, changes: list[Change]) -> str:
        if part.kind == "words":
            escaped = html.escape(part.words, quote=False).replace("\u00a0", "&#160;")
            return escaped.replace(quote, f"&#{ord(quote)};") if quote else escaped
        start, end = part.value
        first = bisect_left(changes, (start,))  # attributes are in order
        return _rewritten(self.text, start, end, changes[first : bisect_left(changes, (end,))])


@dataclass(frozen=True)
class HtmlDocument(ParsedFile):
    content: HtmlText
    encoding: str
    start: str
    """A byte order mark, if the file has one."""

    @property
    def documents(self) -> Sequence[Sequence[FileSegment]]:
        return [[segment for slot in self.content.slots for segment in slot.unit.segments]]

    def render(self, translated: Iterator[Translated]) -> Iterator[str | bytes]:
        text = self.start + self.content.render(translated)
        yield text.encode(self.encoding, "xmlcharrefreplace")


class HtmlFormat(DocumentFormat):
    suffixes = (".html", ".htm", ".xhtml")
    about = "web pages: only the words change, and inline elements move with them"
    writes_file = True

    def parse(self, source: FileSource, options: FileOptions) -> HtmlDocument:
        text, encoding = decoded(source)
        return HtmlDocument(parse_html(text, options), encoding, source.bom)


def parse_html(text: str, options: FileOptions) -> HtmlText:
    reader = _Reader(text, options)
    reader.read()
    return HtmlText(text, tuple(reader.slots), tuple(reader.language))


def translate_elements(text: str, names: Set[str], options: FileOptions) -> HtmlText:
    """XML of which only the text of some elements is translated; the language that `dc:language` names is set."""
    slots: list[Slot] = []
    language: list[tuple[int, int, str]] = []
    listed, index = tokens(text), LineIndex(text)
    closed = closings(listed)
    for number, token in enumerate(listed):
        end_token = closed.get(number)
        inside = listed[number + 1 : end_token - 1] if end_token is not None else []
        if not inside or not all(one.kind == "text" for one in inside):
            continue
        start, end = inside[0].start, inside[-1].end
        if token.name in names:
            words = Part("words", html.unescape(text[start:end]))
            unit = Unit.of([words], index.line(start), options.language)
            slots += [Slot(start, end, unit)] if unit is not None else []
        elif token.name == "dc:language":
            language.append((start, end, options.target))
    return HtmlText(text, tuple(slots), tuple(language))


class _Reader:
    def __init__(self, text: str, options: FileOptions) -> None:
        self._text, self._options = text, options
        self._lines, self._listed = LineIndex(text), tokens(text)
        self._closings = closings(self._listed)
        blocks = (number for number, one in enumerate(self._listed) if one.name and one.name not in _INLINE)
        self._blocks = [*blocks, len(self._listed)]
        self._pairs = count()
        self._parts: list[Part] = []
        self._inside: list[tuple[str, int]] = []
        """Open inline elements of the unit, with their pairs."""
        self._attributes: list[Slot] = []
        self.slots: list[Slot] = []
        self.language: list[tuple[int, int, str]] = []

    def read(self) -> None:
        number = 0
        while number < len(self._listed):
            token = self._listed[number]
            following = number + 1
            if token.kind in ("start", "empty"):
                following = self._tag(number)
            elif token.kind == "end":
                self._end(token)
            elif token.kind == "text":
                self._read_text(token)
            else:
                self._parts.append(Part("single", value=(token.start, token.end)))
            number = following
        self._finish()

    def _read_text(self, token: Token) -> None:
        """Words; statements of templates ({% if user %}) are between blocks."""
        at = token.start
        for piece in re.split(f"({_STATEMENT.pattern})", self._raw(token)):
            here, at = (at, at + len(piece)), at + len(piece)
            if _STATEMENT.fullmatch(piece):
                self._finish()
            elif piece:
                self._parts.append(Part("words", html.unescape(piece), value=here))

    def _raw(self, token: Token) -> str:
        return self._text[token.start : token.end]

    def _tag(self, number: int) -> int:
        """Read a tag, or a whole element if it is not looked into; the number of the token after it."""
        listed = self._listed
        token = listed[number]
        if token.name == "html" and token.kind == "start":
            self._find_language(token)
        refused = token.get("translate") == "no" or "notranslate" in (token.get("class") or "").split()
        whole = token.name in _OPAQUE | _SKIPPED or refused
        after = self._after(number) if whole and token.kind == "start" else number + 1
        inline = token.name in _INLINE | _OPAQUE
        if not inline:
            self._finish()
        if not refused:
            self._read_attributes(token)
        if token.name == "sup" and self._is_ordinal(listed[number + 1 : after - 1]):
            self._parts.append(
                Part("words", self._raw(listed[number + 1]), value=(token.start, listed[after - 1].end))
            )
        elif inline and (whole or token.kind == "empty"):
            self._parts.append(Part("single", value=(token.start, listed[after - 1].end)))
        elif inline:
            pair = next(self._pairs)
            self._inside.append((token.name, pair))
            self._parts.append(Part("open", pair=pair, value=(token.start, token.end)))
        return after

    def _is_ordinal(self, inside: Sequence[Token]) -> bool:
        """True for the raised letters of 5th."""
        return len(inside) == 1 and inside[0].kind == "text" and self._raw(inside[0]) in ORDINALS

    def _after(self, number: int) -> int:
        """The token after an element; if it is never closed, the next block."""
        end = self._closings.get(number)
        return self._blocks[bisect_right(self._blocks, number)] if end is None else end

    def _end(self, token: Token) -> None:
        here = (token.start, token.end)
        if token.name not in _INLINE:
            self._finish()
        elif self._inside and self._inside[-1][0] == token.name:
            self._parts.append(Part("close", pair=self._inside.pop()[1], value=here))
        else:
            self._parts.append(Part("single", value=here))  # opened in another block, or not nested

    def _read_attributes(self, token: Token) -> None:
        names = list(_ATTRIBUTES)
        if token.name == "meta" and (token.get("name") or token.get("property") or "").lower() in _ABOUT:
            names = ["content"]
        elif token.name in _LABELLED:
            names.append("label")
        elif token.name == "input" and (token.get("type") or "").lower() in ("submit", "button", "reset"):
            names.append("value")
        for name in names:
            value = token.get(name)
            span = attribute_spans(self._raw(token)).get(name)
            unit = (
                Unit.of([Part("words", value)], self._lines.line(token.start), self._options.language)
                if value
                else None
            )
            template = span is not None and re.search("<%|{%", self._raw(token)[span[0] : span[1]])
            if span is not None and span[2] and unit is not None and not template:
                self._attributes.append(Slot(token.start + span[0], token.start + span[1], unit, span[2]))

    def _finish(self) -> None:
        """What has been read since the last block is a unit."""
        parts, self._parts, self._inside = self._parts, [], []
        closed = {part.pair for part in parts if part.kind == "close"}
        # What is not closed here is closed in another block.
        parts = [
            Part("single", value=part.value) if part.kind == "open" and part.pair not in closed else part
            for part in parts
        ]
        self.slots += self._attributes
        self._attributes = []
        if not parts:
            return
        start, end = parts[0].value[0], parts[-1].value[1]
        unit = Unit.of(_joined(parts), self._lines.line(start), self._options.language)
        if unit is not None:
            self.slots.append(Slot(start, end, unit))

    def _find_language(self, token: Token) -> None:
        target = self._options.target
        spans = attribute_spans(self._raw(token))
        named = [spans[name] for name in ("lang", "xml:lang") if name in spans]
        self.language = [(token.start + start, token.start + end, target) for start, end, _ in named]
        if not named:
            at = token.start + len("<html")
            self.language = [(at, at, f' lang="{target}"')]


def _joined(parts: Sequence[Part]) -> list[Part]:
    """Neighbouring words as one part: entities are tokens of their own."""
    made: list[Part] = []
    for part in parts:
        if part.kind == "words" and made and made[-1].kind == "words":
            made[-1] = Part("words", made[-1].words + part.words)
        else:
            made.append(part)
    return made


def _rewritten(text: str, start: int, end: int, changes: Sequence[Change]) -> str:
    """`text[start:end]` with changes that lie inside it, in order."""
    made, at = "", start
    for first, last, written in changes:
        made += text[at:first] + written
        at = last
    return made + text[at:end]


def _is_inside(change: Change, ranges: Sequence[tuple[int, int]]) -> bool:
    """True if one of some ranges, which are in order, encloses a change."""
    number = bisect_left(ranges, (change[0] + 1,)) - 1
    return number >= 0 and change[1] <= ranges[number][1]
