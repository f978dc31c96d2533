"""Where inline markup goes in a translation: around the words that attend to those that it enclosed in the source.
Every opening mark has its closing one, and nesting stays valid, whatever the model does."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
import numpy.typing as npt

from fenster.decode.markup import STOPS, Enclosed, around_all, is_stop

Floats = npt.NDArray[np.floating[Any]]
_THRESHOLD = 0.5  # of a word's attention inside the marks; chosen on development sets (experiments/markup.py)
_BRACKETS = "()[]{}\"'“”„‚‘’«»‹›"


@dataclass(frozen=True)
class Words:
    """The words of a text between spaces: character ranges, and the token that each character belongs to."""

    text: str
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
        return cls(text, ranges, token_word)


def insert_marks(
    target: str,
    enclosed: Sequence[Enclosed],
    source: Words,
    words: Words,
    attention: Floats,
    stand_ins: Set[str] = frozenset(),
) -> str:
    """`target` with marks around the words that attend to the enclosed words of the source; `attention` is
    [target tokens, source tokens]. `stand_ins` are characters that mean the same on both sides: what they stand for
    keeps its marks, whatever attends to it."""
    table = np.zeros((len(words.ranges), len(source.ranges)))
    for token, word in enumerate(words.token_word[: len(attention)]):
        for other, source_word in enumerate(source.token_word[: attention.shape[1]]):
            if word >= 0 and source_word >= 0:
                table[word, source_word] += attention[token, other]
    table /= np.maximum(table.sum(1, keepdims=True), 1e-9)
    if not words.ranges:
        return around_all(target, enclosed)
    spans: list[tuple[Enclosed, int, int]] = []
    for one in enclosed:
        inside = [n for n, (a, b) in enumerate(source.ranges) if a < one.end and b > one.start]
        score = _kept(target, words, source.text[one.start : one.end], stand_ins)
        if score is None:
            score = table[:, inside].sum(1)
        spans.append((one, *_run(one, spans, score, len(inside) == len(source.ranges))))
    # At one place longer runs open first and close last, and of equal ones the outer.
    placed: list[tuple[Enclosed, int, int]] = []
    for one, first, last in spans:
        held = source.text[one.start : one.end]
        start, end = _edges(target, words.ranges[first][0], words.ranges[last - 1][1], held)
        if is_stop(held) and not any(_overlap(one, other) for other, _, _ in spans if other is not one):
            start, end = _stop_in(target, source.text, one) or (start, end)
            placed = [_before(other, begin, stop, one, start, end) for other, begin, stop in placed]
        placed.append((one, *_nested(one, start, end, placed)))
    events: list[tuple[int, int, int, int, str]] = []
    for depth, (one, start, end) in enumerate(placed):
        events.append((start, 1, start - end, depth, one.opening))
        events.append((end, 0, end - start, -depth, one.closing))
    made, at = "", 0
    for position, _, _, _, mark in sorted(events):
        made += target[at:position] + mark
        at = position
    return made + target[at:]


def _before(other: Enclosed, begin: int, stop: int, one: Enclosed, start: int, end: int) -> tuple[Enclosed, int, int]:
    """A pair that ends before a stop with marks of its own, where its last word had the stop, too."""
    return (
        (other, begin, start) if stop == end and begin < start and not _overlap(one, other) else (other, begin, stop)
    )


def _nested(one: Enclosed, start: int, end: int, placed: Sequence[tuple[Enclosed, int, int]]) -> tuple[int, int]:
    """`[start, end)` as far as it is inside the pairs around it, and crosses no other."""
    for other, begin, stop in placed:
        inside = other.start <= one.start and one.end <= other.end
        if inside or begin < start < stop < end:
            start, end = min(start, stop), min(end, stop)
        if inside or start < begin < end < stop:
            start, end = max(start, begin), max(end, begin)
    return start, end


def _overlap(one: Enclosed, other: Enclosed) -> bool:
    return one.start < other.end and other.start < one.end


def _stop_in(target: str, source: str, one: Enclosed) -> tuple[int, int] | None:
    """Where the target has the stop that a pair encloses: counted from the end, since stops there are the surest."""
    held = source[one.start : one.end]
    places = [match.span() for match in re.finditer(re.escape(held), target)]
    behind = source.count(held, one.end)
    return places[-1 - behind] if behind < len(places) else None


def _kept(target: str, words: Words, held: str, stand_ins: Set[str]) -> Floats | None:
    """[words] 1 for those that have what a pair encloses, if these are stand-ins only and the target has them all."""
    letters = {character for character in held if _sort(character) is None}
    if not letters or not letters <= stand_ins or not letters <= set(target):
        return None
    return np.array([float(not letters.isdisjoint(target[first:last])) for first, last in words.ranges])


def _edges(target: str, start: int, end: int, held: str) -> tuple[int, int]:
    """`target[start:end]` without punctuation and marks at its edges that `held`, what the source encloses, lacks."""
    inner = held.strip()
    first, last = (
        {_sort(one) for one in takewhile(lambda one: not one.isalnum(), edge)} for edge in (inner, reversed(inner))
    )
    core = [at for at in range(start, end) if _sort(target[at]) is None]
    if core:
        begin, stop = core[0], core[-1] + 1
        while stop < end and _sort(target[stop]) in last:
            stop += 1
        while begin > start and _sort(target[begin - 1]) in first:
            begin -= 1
        start, end = begin, stop
    return start, end


def _sort(character: str) -> str | None:
    """What may be inside a pair or beside it; None is part of a word."""
    if character in STOPS:
        return STOPS
    if character in _BRACKETS:
        return _BRACKETS
    if character == " ":
        return character
    return "mark" if "\ue000" <= character <= "\uf8ff" else None


def _run(
    one: Enclosed, spans: Sequence[tuple[Enclosed, int, int]], score: Floats, everything: bool
) -> tuple[int, int]:
    """The words that a pair goes around: inside those of the pair around it, and beside those of other pairs. If
    these left none, it goes around the words of the last of them."""
    first, last = 0, len(score)
    for other, begin, end in spans:
        if other.start <= one.start and one.end <= other.end:
            first, last = begin, end
    beside = [
        (begin, end)
        for other, begin, end in spans
        if not (other.start <= one.start and one.end <= other.end) and first <= begin and end <= last
    ]
    taken = {word for begin, end in beside for word in range(begin, end)}
    if everything and not taken:
        return first, last
    free = [word for word in range(first, last) if word not in taken]
    if not free:
        return beside[-1]
    return _best(score, free)


def _best(score: Floats, free: Sequence[int]) -> tuple[int, int]:
    """The run of free words that attends to the enclosed words most; at least one word."""
    best, run = -np.inf, (free[0], free[0] + 1)
    for number, begin in enumerate(free):
        total = 0.0
        for offset, word in enumerate(free[number:]):
            if word != begin + offset:
                break  # another pair lies between
            total += score[word] - _THRESHOLD
            if total > best:
                best, run = total, (begin, word + 1)
    return run
