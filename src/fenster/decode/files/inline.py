"""Inline content of documents: words with markup between them, as segments for the translator and back.

A format lists what a paragraph consists of as parts: words, and marks that open, close or stand alone, each with a
value of the format's own. A unit is such a paragraph as text in which every mark is spelt with private characters.
From its translation it makes parts again: new words, and every mark of the source exactly once, well nested.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fenster.data.sentence_split import sentences
from fenster.data.text import SPACES
from fenster.decode.files.base import FileSegment
from fenster.decode.result import Translated
from fenster.document import Mark

Kind = Literal["words", "open", "close", "single"]
_SIGNS: dict[str, str] = {"open": "\ue0f0", "close": "\ue0f1", "single": "\ue0f2"}
_END = "\ue0f3"
_OURS = re.compile(f"[{''.join(_SIGNS.values())}{_END}]")
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
"""What files may not hold; a model that spells in bytes may produce it."""
_HEADING_NUMBER = re.compile(r"\d{1,2}(?:\.\d{1,2})+\.?")
ORDINALS = ("st", "nd", "rd", "th")
"""What word processors raise in 5th; such words are read like any others."""
_MARK = re.compile(f"([{''.join(_SIGNS.values())}])(\\d+){_END}")


def plain(text: str) -> str:
    """A segment, or its translation, without its marks."""
    return SPACES.sub(" ", writable(_MARK.sub("", text))).strip(" ")


def writable(text: str) -> str:
    """A translation without characters that files may not hold."""
    return re.sub("[\x85\u2028\u2029]", " ", _UNWRITABLE.sub("", text))


@dataclass(frozen=True)
class Part:
    """A piece of a paragraph. The opening and the closing mark of a pair have the same `pair`."""

    kind: Kind
    words: str = ""
    pair: int = -1
    value: Any = None


@dataclass(frozen=True)
class Unit:
    """A paragraph, or what of it stands between two line breaks."""

    segments: tuple[FileSegment, ...]
    marks: tuple[Part, ...]
    """By the number that the text has them under."""
    before: tuple[Part, ...]
    """What stands before the first word, and is not translated."""
    after: tuple[Part, ...]

    @classmethod
    def of(cls, parts: Sequence[Part], line: int, language: str) -> Unit | None:
        """None if there is nothing to translate: no letter and no digit."""
        parts = [part for one in parts for part in _without_ours(one)]
        first, last = _trimmed(parts)
        if first == last:
            return None
        text, marks, listed = "", list[Mark](), list[Part]()
        spaced = True  # marks aside, the text so far ends in a space
        for part in parts[first:last]:
            if part.kind == "words":
                words = SPACES.sub(" ", part.words)
                words = words[1:] if spaced and words.startswith(" ") else words
                opened = _opened_at_end(text, marks)
                if words.startswith(" ") and opened:
                    # A space in front of the pair: it may part two sentences, each with its marks.
                    at = marks[-opened].start
                    text, words = f"{text[:at]} {text[at:]}", words[1:]
                    marks[-opened:] = [one._replace(start=one.start + 1, end=one.end + 1) for one in marks[-opened:]]
                spaced = words.endswith(" ") if words else spaced
                text += words
            else:
                begin = len(text)
                text += f"{_SIGNS[part.kind]}{len(listed)}{_END}"
                pair = part.pair if part.kind != "single" else None
                marks.append(Mark(begin, len(text), pair, part.kind == "open"))
                spaced = spaced and part.kind != "single"
                listed.append(part)
        inner = text.rstrip(" ")
        words_before = _spaces(parts[first:last], 0, r"^\s*")
        words_after = _spaces(parts[first:last], -1, r"\s*$")
        return cls(
            split_sentences(inner, marks, line, language),
            tuple(listed),
            (*parts[:first], *words_before),
            (*words_after, *parts[last:]),
        )

    def translated(self, translations: Iterator[Translated]) -> list[Part] | None:
        """The parts of the translated paragraph; None if nothing changed. Takes as many translations as there are
        segments."""
        texts = [next(translations).text for _ in self.segments]
        if texts == [segment.text for segment in self.segments]:
            return None
        parts: list[Part] = []
        text, at = writable(" ".join(texts)), 0
        for match in _MARK.finditer(text):
            if match.start() > at:
                parts.append(Part("words", text[at : match.start()]))
            parts.append(self.marks[int(match[2])])
            at = match.end()
        if at < len(text):
            parts.append(Part("words", text[at:]))
        if not _is_nested(parts, self.marks):  # a safeguard: it should not happen
            parts = [Part("words", _MARK.sub("", text)), *self.marks]
        # Characters that marks are spelt with are marks themselves, and text again here.
        whole = [*self.before, *parts, *self.after]
        return [part.value if isinstance(part.value, Part) else part for part in whole]


Pieces = tuple[tuple[tuple[Part, ...], Unit | None], ...]
"""A paragraph cut at its breaks: what is between them, and they themselves, each with its unit if it has words."""


def cut_in_units(pieces: Sequence[Sequence[Part]], line: int, language: str) -> Pieces:
    """What is between breaks, with units. The number of a heading (2.10, a tab, Release notes) is no figure: it has
    none."""
    made: list[tuple[tuple[Part, ...], Unit | None]] = []
    for number, piece in enumerate(pieces):
        words, after = (
            "".join(part.words for one in some for part in one).strip()
            for some in ([piece], pieces[number + 1 : number + 3])
        )
        made.append((tuple(piece), None if numbers_heading(words, after) else Unit.of(piece, line, language)))
    return tuple(made)


def numbers_heading(text: str, after: str) -> bool:
    """True if a text is the number of a heading that stands `after` it."""
    return after[:1].isupper() and _HEADING_NUMBER.fullmatch(text) is not None


def translated_pieces(pieces: Pieces, translations: Iterator[Translated]) -> list[Part] | None:
    """The parts of the translated paragraph; None if nothing changed."""
    made: list[Part] = []
    changed = False
    for parts, unit in pieces:
        new = None if unit is None else unit.translated(translations)
        changed = changed or new is not None
        made += parts if new is None else new
    return made if changed else None


def _is_nested(parts: Sequence[Part], marks: Sequence[Part]) -> bool:
    """True if every mark is there once, and pairs are nested as far as both ends are in the unit."""
    if sum(part.kind != "words" for part in parts) != len(marks):
        return False
    opened: list[int] = []
    closing = {mark.pair for mark in marks if mark.kind == "close"}
    for part in parts:
        if part.kind == "open" and part.pair in closing:
            opened.append(part.pair)
        elif part.kind == "close" and part.pair in opened and opened.pop() != part.pair:
            return False
    return not opened


def split_sentences(text: str, marks: Sequence[Mark], line: int, language: str) -> tuple[FileSegment, ...]:
    """The sentences of a paragraph with the marks that each has. Sentences are found in the words alone, and cut at
    spaces, so that a mark stays beside the word that it touches."""
    bare, places = "", list[int]()  # the words, and where each of their characters is in the text
    at = 0
    for mark in [*marks, Mark(len(text), len(text), -1)]:
        bare += text[at : mark.start]
        places += range(at, mark.start)
        if mark.pair is None and bare[-1:] in ("", " "):
            bare += "x"  # a word of its own, as far as sentences are concerned; not so the sign of a footnote
            places.append(mark.start)
        at = mark.end
    cuts = [0]
    letters = [at for at, character in enumerate(bare) if character != " "]
    seen = 0
    for sentence in sentences(bare, language):
        space = bare.find(" ", letters[seen - 1], letters[seen]) if seen else -1
        if space >= 0:
            cuts.append(places[space] + 1)
        seen += len(sentence.replace(" ", ""))
    segments = []
    for start, end in zip(cuts, [*cuts[1:], len(text) + 1], strict=True):
        inside = (mark for mark in marks if start <= mark.start and mark.end < end)
        moved = (mark._replace(start=mark.start - start, end=mark.end - start) for mark in inside)
        segments.append(FileSegment(text[start : end - 1], line, marks=tuple(moved)))
    return tuple(segments)


def _opened_at_end(text: str, marks: Sequence[Mark]) -> int:
    """How many marks that open a text ends with."""
    end, count = len(text), 0
    while count < len(marks) and marks[-count - 1].opens and marks[-count - 1].end == end:
        count += 1
        end = marks[-count].start
    return count


def _trimmed(parts: Sequence[Part]) -> tuple[int, int]:
    """Where the words begin and end: without single marks at either end, nor pairs around everything."""
    translatable = [
        number
        for number, part in enumerate(parts)
        if part.kind == "words" and any(character.isalnum() for character in part.words)
    ]
    if not translatable:
        return 0, 0
    first, last = 0, len(parts)
    while True:
        if _can_leave(parts[first], first < translatable[0]):
            first += 1
        elif _can_leave(parts[last - 1], last - 1 > translatable[-1]):
            last -= 1
        elif (
            parts[first].kind == "open"
            and parts[last - 1].kind == "close"
            and parts[first].pair == parts[last - 1].pair
        ):
            first, last = first + 1, last - 1
        else:
            return first, last


def _can_leave(part: Part, outside: bool) -> bool:
    return outside and (part.kind == "single" or (part.kind == "words" and not part.words.strip()))


def _spaces(parts: Sequence[Part], index: int, pattern: str) -> list[Part]:
    """The white space at the edge of a unit, which the translation gets back."""
    part = parts[index]
    match = re.search(pattern, part.words) if part.kind == "words" else None
    return [Part("words", match.group())] if match is not None and match.group() else []


def _without_ours(part: Part) -> list[Part]:
    """Words with characters that marks are spelt with: these become marks themselves."""
    if part.kind != "words" or not _OURS.search(part.words):
        return [part]
    pieces = re.split(f"({_OURS.pattern})", part.words)
    return [
        Part("single", value=Part("words", piece)) if number % 2 else replace(part, words=piece)
        for number, piece in enumerate(pieces)
        if piece
    ]
