"""Inline markup around words (bold, links): taken out of a sentence before it is translated. `mark_placement` says
where it goes in the translation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fenster.document import Mark
from fenster.language.protected_text import ProtectedText


@dataclass(frozen=True)
class Enclosed:
    """Marks around `text[start:end]`; one of them is empty if the pair begins or ends in another sentence."""

    start: int
    end: int
    opening: str
    closing: str

    def shifted(self, by: int) -> Enclosed:
        return replace(self, start=self.start + by, end=self.end + by)


_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)(?:\s[^<>]*)?>|\{\\([ibus])([01])\}")
_WHOLE = re.compile(r"<(?:sub|sup|kbd|code|samp|var|tt)\b")  # tags that are protected with what they hold
_SIGN = re.compile(r"\[?\d{1,3}\]?|[*†‡]+")
STOPS = ".,;:!?…"


def tag_marks(text: str) -> list[Mark]:
    """The tags of a text that open and close around words, in pairs, and those of subtitles ({\\i1} … {\\i0}); other
    tags are protected like any span."""
    marks: list[Mark] = []
    open_tags: list[tuple[str, Mark]] = []
    for pair, tag in enumerate(_TAG.finditer(text)):
        name = tag[2] or tag[3]
        if tag.group().endswith("/>"):
            continue
        if not tag[1] and tag[4] != "0":
            open_tags.append((name, Mark(*tag.span(), pair, True)))
        elif any(opened == name for opened, _ in open_tags):
            while open_tags[-1][0] != name:
                open_tags.pop()  # never closed: not a pair
            _, opening = open_tags.pop()
            marks += [opening, Mark(*tag.span(), opening.pair)]
    return sorted(marks)


def without_pairs(text: str, marks: Sequence[Mark]) -> tuple[str, list[Enclosed], list[tuple[int, int]]]:
    """(text without paired marks, those marks with outer pairs first, places of the other marks). A pair without
    a word inside (a link on a symbol), the sign of a note, and what is raised or code are one mark with what they
    hold."""
    closing = {mark.pair: mark for mark in marks if mark.pair is not None and not mark.opens}
    opening = {mark.pair: mark for mark in marks if mark.pair is not None and mark.opens}
    wordless = [
        Mark(mark.start, closing[pair].end)
        for pair, mark in opening.items()
        if pair in closing and _is_one(text, mark, closing[pair], marks)
    ]
    wordless = [one for one in wordless if not any(_is_inside(one, other) for other in wordless)]
    marks = [mark for mark in marks if not any(_is_inside(mark, other) for other in wordless)]
    removed = [mark for mark in marks if mark.pair is not None]
    bare, at = "", 0
    for mark in removed:
        bare += text[at : mark.start]
        at = mark.end
    bare += text[at:]

    def moved(offset: int) -> int:
        return offset - sum(mark.end - mark.start for mark in removed if mark.end <= offset)

    enclosed = []
    for pair in dict.fromkeys(mark.pair for mark in removed if mark.pair is not None):
        first, last = opening.get(pair), closing.get(pair)
        enclosed.append(
            Enclosed(
                moved(first.end) if first else 0,
                moved(last.start) if last else len(bare),
                text[first.start : first.end] if first else "",
                text[last.start : last.end] if last else "",
            )
        )
    apart = sorted([*wordless, *(mark for mark in marks if mark.pair is None)])
    singles = [(moved(mark.start), moved(mark.end)) for mark in apart]
    # Of pairs around the same words the first to open is the outer one; of those that only close, the last to close.
    ordered = [one for one in enclosed if one.opening] + [one for one in reversed(enclosed) if not one.opening]
    return bare, sorted(ordered, key=lambda one: (one.start, -one.end)), singles


def _is_one(text: str, first: Mark, last: Mark, marks: Sequence[Mark]) -> bool:
    """True if a pair and what it holds stay together."""
    inside = [mark for mark in marks if first.end <= mark.start and mark.end <= last.start]
    held = "".join(
        text[at] for at in range(first.end, last.start) if not any(mark.start <= at < mark.end for mark in inside)
    )
    before = first.start  # of a sign that touches something, other marks aside
    behind_single = False
    while (touching := next((mark for mark in marks if mark.end == before), None)) is not None:
        before, behind_single = touching.start, behind_single or touching.pair is None
    touches = bool(text[max(0, before - 1) : before].strip())
    # A stop behind a word is the sentence's; one behind the sign of a note stays there.
    is_behind_word = before == first.start or (not behind_single and text[before - 1].isalpha())
    if touches and is_stop(held) and is_behind_word:
        return False
    is_sign = touches and _SIGN.fullmatch(held) is not None
    is_wordless = not any(character.isalnum() for character in held)
    return is_wordless or is_sign or _WHOLE.match(text, first.start) is not None


def _is_inside(mark: Mark, other: Mark) -> bool:
    return mark != other and other.start <= mark.start and mark.end <= other.end


def within(enclosed: Sequence[Enclosed], begin: int, text: ProtectedText) -> list[Enclosed]:
    """Those that begin in a piece, which starts at `begin` of the whole; places are those in what the model sees."""
    end = begin + len(text.source)
    here = [one for one in enclosed if begin <= one.start < end]
    return [
        replace(
            one,
            start=text.visible_offset(one.start - begin),
            end=text.visible_offset(min(one.end, end) - begin),
        )
        for one in here
    ]


def around_all(text: str, enclosed: Sequence[Enclosed]) -> str:
    """Marks around the whole of a text."""
    for one in reversed(enclosed):
        text = one.opening + text + one.closing
    return text


def is_stop(held: str) -> bool:
    return bool(held) and set(held) <= set(STOPS)
