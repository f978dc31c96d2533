"""A sentence with its protected spans and numbers taken out: text and placeholders in turn.

Decoding protects every span (`Protector.spans`, `protected`); training replaces spans that both sides have
(`Protector.pair`), so that the model learns where a placeholder goes. Placeholders have kinds, because a time is
translated differently from an address: `at 9:30` is `um 9:30 Uhr`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Literal, NamedTuple

from fenster.language import Language
from fenster.language.numbers import NumberConverter
from fenster.language.protected_text import PLACEHOLDERS, Marked, Placeholder, PlaceholderKind, ProtectedText
from fenster.language.spans import MARKS, Span, SpanFinder, without_overlaps

Numbers = Literal["convert", "keep", "model"]
LONGEST_TEXT = 1000  # characters that one search translates; the longest sentences of novels have about 800
# Placeholders of programs that stand for numbers, and are read as such: %d files.
_COUNT = re.compile(
    r"%(?:\d+\$)?[#0+ -]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?[diufeEgGxXo]|%\(\w+\)[#0+ -]*\d*(?:\.\d+)?[diufeEgGxXo]"
    r"|%?\$?\{{1,2}\s*(?:n|num|number|count|total|amount|minutes?|hours?|days?|seconds?|months?|years?)\s*\}{1,2}"
)
_NAME = re.compile(r"(?<![\w-])[A-Z][\w-]*\w(?![\w-])")


class ProtectedSpan(NamedTuple):
    """`forms` are how it may be written in the target language, the first being what is written."""

    span: Span
    kind: PlaceholderKind
    forms: tuple[str, ...]

    def shifted(self, by: int) -> ProtectedSpan:
        return self._replace(span=Span(self.span.start + by, self.span.end + by, self.span.kind))


class Protector:
    """Protects the text of one language pair; `target` is None if its conventions are not known."""

    def __init__(
        self,
        source: Language | None = None,
        target: Language | None = None,
        *,
        numbers: Numbers = "convert",
        patterns: Iterable[re.Pattern[str]] = (),
        terms: Sequence[str] = (),
    ) -> None:
        self._finder, self._numbers = SpanFinder(patterns, terms), numbers
        self._converter = None if source is None or target is None else NumberConverter(source, target)

    def spans(
        self, text: str, marks: Sequence[tuple[int, int]] = (), others: Sequence[tuple[int, int]] = ()
    ) -> list[ProtectedSpan]:
        """Everything to protect, in order; `marks`, which a file format names, before all else, and of `others` what
        nothing else takes (the sign of ₹1,000 beside its number)."""
        spans = [ProtectedSpan(Span(start, end, "mark"), "x", (text[start:end],)) for start, end in marks]
        for span in self._finder.find(text):
            literal = text[span.start : span.end]
            is_count = span.kind == "template" and _COUNT.fullmatch(literal) is not None
            spans.append(ProtectedSpan(span, "n" if is_count else "x", (literal,)))
        if self._converter is not None and self._numbers != "model":
            for span, forms, has_words in self._converter.find(text):
                if has_words and self._numbers == "keep":
                    continue
                kept = forms if self._numbers == "convert" else (text[span.start : span.end],)
                spans.append(ProtectedSpan(span, "t" if span.kind == "time" else "n", kept))
        taken = set(without_overlaps(one.span for one in spans))
        spans = [one for one in spans if one.span in taken]
        for start, end in _free(others, sorted(taken, key=lambda span: span.start)):
            spans.append(ProtectedSpan(Span(start, end, "other"), "x", (text[start:end],)))
        return sorted(spans, key=lambda one: one.span.start)

    def digits(self, text: str, taken: Sequence[ProtectedSpan]) -> list[ProtectedSpan]:
        """Every further number of a text, as it stands."""
        free = [
            ProtectedSpan(Span(*match.span(), "number"), "n", (match.group(),))
            for match in re.finditer(r"(?<![\w])\d+(?!\w)", text)
        ]
        return [
            one for one in free if all(one.span.end <= t.span.start or one.span.start >= t.span.end for t in taken)
        ]

    def pair(self, source: str, target: str, rng: Random, names: float = 0.0) -> tuple[Marked, Marked] | None:
        """Both sides of a training pair with their common spans as placeholders; None if they have none.

        A span counts if it occurs once on either side. `names` is the probability that a capitalised word which both
        sides have is one too.
        """
        spans = self.spans(source)
        if names:
            spans += [
                ProtectedSpan(Span(*match.span(), "name"), "x", (match.group(),))
                for match in _NAME.finditer(source)
                if rng.random() < names
            ]
        shared: list[tuple[ProtectedSpan, Span]] = []
        for one in spans:
            target_span = _only_occurrence(one.forms, target)
            if target_span is None or source.count(source[one.span.start : one.span.end]) > 1:
                continue
            if all(_apart(one.span, other.span) and _apart(target_span, taken) for other, taken in shared):
                shared.append((one, target_span))
        numbers = {kind: rng.sample(range(count), count) for kind, count in PLACEHOLDERS.items()}
        left: list[tuple[Span, Placeholder]] = []
        right: list[tuple[Span, Placeholder]] = []
        for one, target_span in shared:
            if numbers[one.kind]:
                placeholder = Placeholder(one.kind, numbers[one.kind].pop())
                left.append((one.span, placeholder))
                right.append((target_span, placeholder))
        return (marked(source, left), marked(target, right)) if left else None


def marked(text: str, spans: Sequence[tuple[Span, Placeholder]]) -> Marked:
    """Text with placeholders instead of spans."""
    parts: list[str | Placeholder] = []
    at = 0
    for span, placeholder in sorted(spans):
        if span.start > at:
            parts.append(text[at : span.start])
        parts.append(placeholder)
        at = span.end
    if at < len(text):
        parts.append(text[at:])
    return tuple(parts)


def protected(text: str, spans: Sequence[ProtectedSpan]) -> list[ProtectedText]:
    """Text with all of `spans` as placeholders, numbered in order: one part, or several if there are more spans than
    placeholders of a kind, or if the text is too long for one search. Joined, the parts are the text."""
    pieces: list[ProtectedText] = []
    used = dict.fromkeys(PLACEHOLDERS, 0)
    placed: list[tuple[Span, Placeholder]] = []
    values: dict[Placeholder, str] = {}
    lengths: dict[Placeholder, int] = {}
    begin = 0

    def finish(end: int) -> None:
        nonlocal begin, placed, values, lengths
        shifted = [(Span(s.start - begin, s.end - begin, s.kind), p) for s, p in placed]
        marks = frozenset(p for s, p in placed if s.kind in MARKS)
        pieces.append(ProtectedText(marked(text[begin:end], shifted), values, text[begin:end], lengths, marks))
        begin, placed, values, lengths = end, [], {}, {}
        used.update(dict.fromkeys(PLACEHOLDERS, 0))

    cuts = cuts_of_long(text, spans)
    for one in spans:
        while cuts and cuts[0] <= one.span.start:
            finish(cuts.pop(0))
        if used[one.kind] == PLACEHOLDERS[one.kind]:
            finish(one.span.start)
        placeholder = Placeholder(one.kind, used[one.kind])
        used[one.kind] += 1
        placed.append((one.span, placeholder))
        values[placeholder] = one.forms[0]
        lengths[placeholder] = one.span.end - one.span.start
    for cut in cuts:
        finish(cut)
    finish(len(text))
    return pieces


def spans_of(text: ProtectedText) -> list[ProtectedSpan]:
    """What is protected in a text already."""
    spans: list[ProtectedSpan] = []
    at = 0
    for part in text.parts:
        length = len(part) if isinstance(part, str) else text.lengths[part]
        if isinstance(part, Placeholder):
            kind = "mark" if part in text.marks else ""
            spans.append(ProtectedSpan(Span(at, at + length, kind), part.kind, (text.values[part],)))
        at += length
    return spans


def cuts_of_long(text: str, spans: Sequence[ProtectedSpan]) -> list[int]:
    """Where a text is cut that is too long to be one sentence: after punctuation, or a space, and never in a span. A
    search takes time and memory with its length, and no model has seen such sentences."""
    cuts: list[int] = []
    begin = 0
    while len(text) - begin > LONGEST_TEXT:
        last = begin + LONGEST_TEXT
        ends = (
            [match.end() for match in re.finditer(pattern, text[begin + LONGEST_TEXT // 3 : last])]
            for pattern in (r"[.;:!?]\s+", r",\s+", r"\s+")
        )
        cut = next((begin + LONGEST_TEXT // 3 + offsets[-1] for offsets in ends if offsets), last)
        inside = next((one.span for one in spans if one.span.start < cut < one.span.end), None)
        if inside is not None:
            cut = inside.start if inside.start > begin else inside.end
        cuts.append(cut)
        begin = cut
    return [cut for cut in cuts if cut < len(text)]


def _free(wanted: Sequence[tuple[int, int]], taken: Sequence[Span]) -> Iterator[tuple[int, int]]:
    """What is left of some stretches of a text beside spans, which are in order."""
    for start, end in wanted:
        for span in taken:
            if span.start < end and start < span.end:
                if start < span.start:
                    yield start, span.start
                start = span.end
        if start < end:
            yield start, end


def _only_occurrence(forms: Sequence[str], text: str) -> Span | None:
    """Where the first of `forms` that occurs in a text does, if it occurs once and not inside a longer word."""
    for form in forms:
        if form not in text:
            continue
        before = r"(?<![\w.,])" if form[0].isalnum() else ""
        after = r"(?!\w)(?![.,]\d)" if form[-1].isalnum() else ""
        matches = [match.span() for match in re.finditer(before + re.escape(form) + after, text)]
        if len(matches) == 1:
            return Span(*matches[0], "")
        if matches:
            return None
    return None


def _apart(one: Span, other: Span) -> bool:
    return one.end <= other.start or one.start >= other.end
