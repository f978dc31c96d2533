"""Inline markup around words (bold, links): taken out of a sentence before it is translated, and put around the words
of the translation that attend to the same words of the source. Every opening mark has its closing one, and nesting
stays valid, whatever the model does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fenster.document import Mark
from fenster.language.protect import ProtectedText

Floats = npt.NDArray[np.float64]
_THRESHOLD = 0.55  # of a word's attention inside the marks; chosen on development sets (experiments/markup.py)


@dataclass(frozen=True)
class Enclosed:
    """Marks around `text[start:end]`; one of them is empty if the pair begins or ends in another sentence."""

    start: int
    end: int
    opening: str
    closing: str

    def shifted(self, by: int) -> Enclosed:
        return replace(self, start=self.start + by, end=self.end + by)


_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)(?:\s[^<>]*)?>")


def tag_marks(text: str) -> list[Mark]:
    """The tags of a text that open and close around words, in pairs; other tags are protected like any span."""
    marks: list[Mark] = []
    open_tags: list[tuple[str, Mark]] = []
    for pair, tag in enumerate(_TAG.finditer(text)):
        if tag.group().endswith("/>"):
            continue
        if not tag[1]:
            open_tags.append((tag[2], Mark(*tag.span(), pair, True)))
        elif any(name == tag[2] for name, _ in open_tags):
            while open_tags[-1][0] != tag[2]:
                open_tags.pop()  # never closed: not a pair
            _, opening = open_tags.pop()
            marks += [opening, Mark(*tag.span(), opening.pair)]
    return sorted(marks)


def without_pairs(text: str, marks: Sequence[Mark]) -> tuple[str, list[Enclosed], list[tuple[int, int]]]:
    """(text without paired marks, those marks with outer pairs first, places of the other marks). A pair with nothing
    inside is two single marks."""
    closing = {mark.pair: mark for mark in marks if mark.pair is not None and not mark.opens}
    opening = {mark.pair: mark for mark in marks if mark.pair is not None and mark.opens}
    empty = {pair for pair, mark in opening.items() if pair in closing and closing[pair].start == mark.end}
    removed = [mark for mark in marks if mark.pair is not None and mark.pair not in empty]
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
    singles = [(moved(mark.start), moved(mark.end)) for mark in marks if mark not in removed]
    return bare, sorted(enclosed, key=lambda one: (one.start, -one.end)), singles


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


@dataclass(frozen=True)
class Words:
    """The words of a text between spaces: character ranges, and the token that each character belongs to."""

    ranges: list[tuple[int, int]]
    token_word: list[int]
    """[tokens] The word of each token; -1 for none."""

    @classmethod
    def of(cls, text: str, ends: Sequence[int]) -> Words:
        """`ends` are the lengths of the text after each token."""
        ranges: list[tuple[int, int]] = []
        start = None
        for at, character in enumerate(text + " "):
            if character == " " and start is not None:
                ranges.append((start, at))
                start = None
            elif character != " " and start is None:
                start = at
        token_word = []
        for end in ends:
            inside = [number for number, (first, last) in enumerate(ranges) if first < end <= last]
            token_word.append(inside[0] if inside else -1)
        return cls(ranges, token_word)


def place(target: str, enclosed: Sequence[Enclosed], source: Words, words: Words, attention: Floats) -> str:
    """`target` with marks around the words that attend to the enclosed words of the source; `attention` is
    [target tokens, source tokens]."""
    table = np.zeros((len(words.ranges), len(source.ranges)))
    for token, word in enumerate(words.token_word[: len(attention)]):
        for other, source_word in enumerate(source.token_word[: attention.shape[1]]):
            if word >= 0 and source_word >= 0:
                table[word, source_word] += attention[token, other]
    table /= np.maximum(table.sum(1, keepdims=True), 1e-9)
    inserts: list[tuple[int, int, str]] = []
    spans: list[tuple[Enclosed, int, int]] = []
    for one in enclosed:
        first, last = _bounds(one, spans, len(words.ranges))
        inside = [n for n, (a, b) in enumerate(source.ranges) if a < one.end and b > one.start]
        if len(inside) < len(source.ranges):
            first, last = _best(table[:, inside].sum(1), first, last)
        spans.append((one, first, last))
    for depth, (one, first, last) in enumerate(spans):
        if not words.ranges:
            return around_all(target, enclosed)
        start, end = words.ranges[first][0], words.ranges[last - 1][1]
        whole = first == 0 and last == len(words.ranges)
        while not whole and end - start > 1 and target[end - 1] in ".,;:!?…":
            end -= 1
        inserts.append((start, depth, one.opening))
        inserts.append((end, -depth - 1, one.closing))
    for at, _, text in sorted(inserts, key=lambda item: (item[0], item[1]), reverse=True):
        target = target[:at] + text + target[at:]
    return target


def _bounds(one: Enclosed, spans: Sequence[tuple[Enclosed, int, int]], count: int) -> tuple[int, int]:
    """The words that a pair may be around: inside the pair around it, and behind its neighbours in that one."""
    first, last = 0, count
    for other, begin, end in spans:
        if other.start <= one.start and one.end <= other.end:
            first, last = begin, end
    taken = [end for other, begin, end in spans if other.end <= one.start and first <= begin and end < last]
    return max([first, *taken]), last


def _best(score: Floats, first: int, last: int) -> tuple[int, int]:
    """The run of words between `first` and `last` that attends to the enclosed words most; at least one word."""
    best, found = -np.inf, (first, min(first + 1, last))
    for begin in range(first, last):
        total = 0.0
        for end in range(begin + 1, last + 1):
            total += score[end - 1] - _THRESHOLD
            if total > best:
                best, found = total, (begin, end)
    return found
