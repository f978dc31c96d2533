"""Segments into parts that are copied, and pieces that the model translates.

Nearly always a segment is one piece. Symbols that the model does not know are copied at its edges, protected spans
and numbers become placeholders. If a model has no placeholders, the text between protected spans is translated piece
by piece, and the spans are copied: less fluent, but nothing is corrupted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path

from fenster.data.text import normalise
from fenster.data.tokenizer import Tokenizer
from fenster.decode.config import DecodeConfig
from fenster.decode.glossary import GivenTerms, Glossary, GlossaryTerm, read_glossary, read_terms
from fenster.decode.markup import Enclosed, around_all, tag_marks, within, without_pairs
from fenster.decode.passthrough import split_passthrough
from fenster.decode.piece import Piece, SegmentPlan
from fenster.decode.reading import Reader
from fenster.document import Mark
from fenster.io.files import TextFiles
from fenster.language import Register, languages, load_language
from fenster.language.entities import decoded
from fenster.language.identify import LanguageCheck
from fenster.language.lexicon import Lexicon
from fenster.language.names import with_genitives
from fenster.language.numbers import NumberConverter
from fenster.language.protect import LONGEST_TEXT, ProtectedSpan, Protector, cuts_of_long, protected
from fenster.language.protected_text import ProtectedText
from fenster.language.register import RegisterCounter


class Planner:
    """Plans segments for one model, as the settings say."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        pair: tuple[str, str] | None,
        config: DecodeConfig,
        lexicon: Lexicon | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        known = pair is not None and set(pair) <= set(languages())
        source, target = map(load_language, pair) if known and pair is not None else (None, None)
        # Without placeholders a number would cut its sentence in two: it is left to the model, and what the model
        # copied is written anew.
        numbers = config.numbers if tokenizer.placeholders else "model"
        self._source, self._target_language = source, target
        self.converter = NumberConverter(source, target) if source and target else None
        self._converts_copied = config.numbers == "convert" and not tokenizer.placeholders
        self.counter = None if source is None or target is None else RegisterCounter(source, target)
        self.protector = Protector(
            source,
            target,
            numbers=numbers,
            patterns=map(re.compile, config.protect),
            terms=_terms(config.do_not_translate),
        )
        self.glossary = None if config.glossary is None else read_glossary(config.glossary, source, target)
        self.protects = config.protection
        self.reader = Reader(tokenizer, source, lexicon, protects=config.protection)
        self.quotes = None if target is None else target.quotes
        self.target_letters = None if target is None else target.foreign_letters
        self._target = pair[1] if known and pair is not None else None
        self._language = LanguageCheck(*pair) if known and pair is not None and not config.assume_language else None

    def with_terms(self, given: GivenTerms) -> Planner:
        """A planner that also has these terms; they win over those of the settings."""
        known = () if self.glossary is None else self.glossary.terms
        planner = copy(self)
        planner.glossary = Glossary([*read_terms(given, self._target_language), *known], self._source)
        return planner

    def plan(self, text: str, register: Register | None = None, marks: Sequence[Mark] = ()) -> SegmentPlan:
        """`marks` are inline markup; text with marks must be normalised already, since they count its characters."""
        text = text if marks else normalise(text)
        if self.protects and "&" in text and (read := decoded(text)).places:
            moved = [mark._replace(start=read.moved(mark.start), end=read.moved(mark.end)) for mark in marks]
            plan = self._whole(read.text, register, moved)
            if not plan.is_copied:
                return replace(plan, source=text, spelling=read.spelling)
        return self._whole(text, register, marks)

    def _whole(self, text: str, register: Register | None, marks: Sequence[Mark]) -> SegmentPlan:
        marks = marks or (tag_marks(text) if self.protects else ())
        return self._marked(text, register, marks) if marks else self._plan(text, register)

    def _marked(self, text: str, register: Register | None, marks: Sequence[Mark]) -> SegmentPlan:
        """Markup around words is taken out, and put around their translations later; the rest is protected."""
        bare, enclosed, singles = without_pairs(text, marks)
        plan = self._plan(bare, register, singles, enclosed)
        if plan.warnings and plan.is_copied:
            return SegmentPlan(text, (text,), plan.warnings)
        if plan.is_copied:
            return self._copied(text, [(mark.start, mark.end) for mark in marks])
        return replace(plan, source=text)

    def _plan(
        self,
        text: str,
        register: Register | None,
        singles: Sequence[tuple[int, int]] = (),
        enclosed: Sequence[Enclosed] = (),
    ) -> SegmentPlan:
        prefix, inner, suffix = split_passthrough(text, self._tokenizer.characters)
        if not inner:
            return self._copied(text)
        language = None if self._language is None else self._language.other(inner)
        if language is not None and language == self._target:
            return SegmentPlan(text, (text,), ("language",))
        warnings = () if language is None else ("language",)
        if not self.protects and not singles and not enclosed and len(inner) <= LONGEST_TEXT:
            piece = self._piece(ProtectedText((inner,), source=inner), register)
            return SegmentPlan(text, tuple(part for part in (prefix, piece, suffix) if part), warnings)
        wanted = self.protects or singles or enclosed
        others = [*self.reader.unknown_words(text, singles), *self.reader.people_in_capitals(text)] if wanted else []
        spans = self.protector.spans(text, singles, others) if wanted else []
        first, last = _around(spans, len(prefix), len(text) - len(suffix))
        inside = [one.shifted(-first) for one in spans if first <= one.span.start and one.span.end <= last]
        around = [one.shifted(-first) for one in enclosed]
        parts = self._split(text[first:last], inside, register, around)
        if all(isinstance(part, str) for part in parts):
            return self._copied(text, singles)
        return SegmentPlan(text, tuple(part for part in (text[:first], *parts, text[last:]) if part), warnings)

    def _copied(self, text: str, singles: Sequence[tuple[int, int]] = ()) -> SegmentPlan:
        """A segment without words, its numbers as the target language writes them: a cell of a table."""
        written = text
        for one in reversed(self.protector.spans(text, singles) if self.protects else []):
            written = written[: one.span.start] + one.forms[0] + written[one.span.end :]
        return SegmentPlan(text, (written,))

    def _split(
        self,
        text: str,
        spans: Sequence[ProtectedSpan],
        register: Register | None,
        enclosed: Sequence[Enclosed] = (),
    ) -> list[str | Piece]:
        if not self._tokenizer.placeholders:
            apart = [
                *((one.span.start, one.span.end) for one in spans),
                *((cut, cut) for cut in cuts_of_long(text, spans)),
            ]
            return self._between(sorted(apart), text, register, enclosed)
        pieces = protected(text, spans)
        if not any(_has_letters(piece.visible) for piece in pieces):
            return [text]
        parts: list[str | Piece] = []
        at = 0
        for piece in pieces:
            before, inner, after = piece.stripped()
            here = within(enclosed, at + len(before), inner)
            at += len(piece.source)
            if _has_letters(inner.visible):
                parts += [before, self._piece(inner, register, here), after]
            else:
                parts += [before, around_all(inner.restore(inner.parts), here), after]
        return [part for part in parts if part]

    def _between(
        self,
        spans: Sequence[tuple[int, int]],
        text: str,
        register: Register | None,
        enclosed: Sequence[Enclosed] = (),
    ) -> list[str | Piece]:
        parts: list[str | Piece] = []
        at = 0
        for start, end in [*spans, (len(text), len(text))]:
            piece = text[at:start]
            inner = piece.strip(" ")
            before, after = piece[: len(piece) - len(piece.lstrip(" "))], piece[len(piece.rstrip(" ")) :]
            protected_text = ProtectedText((inner,), source=inner)
            here = within(enclosed, at + len(before), protected_text)
            if _has_letters(inner):
                parts += [before, self._piece(protected_text, register, here), after]
            else:
                parts += [before, around_all(inner, here), after] if inner else [piece]
            parts.append(around_all(text[start:end], [one for one in enclosed if start <= one.start < end]))
            at = end
        return [part for part in parts if part]

    def _piece(self, text: ProtectedText, register: Register | None, enclosed: Sequence[Enclosed] = ()) -> Piece:
        figures = self.converter.find(text.source) if self.converter is not None and self._converts_copied else []
        written = ((text.source[span.start : span.end], forms[0]) for span, forms, _ in figures)
        differing = tuple((ours, theirs) for ours, theirs in written if ours != theirs)
        hours = [] if self.converter is None else self.converter.clock.with_hour_word(text.values.values())
        terms = () if self.glossary is None else self.glossary.find(text.visible)
        return Piece(
            text,
            self.reader.encode(text, register, rewrites=not enclosed),
            register,
            tuple(enclosed),
            terms,
            self.glossary if terms else None,
            (*differing, *hours),
            self._names(text, terms),
            self.reader.is_capitals(text.visible),
        )

    def _names(self, text: ProtectedText, terms: Sequence[GlossaryTerm]) -> tuple[str, ...]:
        """Words that should come out as they are, unless the glossary translates them."""
        return tuple(name for name in self.reader.names(text) if not any(name in term.source for term in terms))

    def protected_names(self, names: Sequence[str]) -> dict[str, str]:
        """Names as the source writes them, and as the translation should."""
        if self._source is None or self._target_language is None:
            return {name: name for name in names}
        return with_genitives(names, self._source, self._target_language)


def _around(spans: Sequence[ProtectedSpan], first: int, last: int) -> tuple[int, int]:
    """What the model reads of a text, so that no span is cut: it begins and ends where a span does, if need be."""
    for one in spans:
        first = one.span.start if one.span.start < first < one.span.end else first
        last = one.span.end if one.span.start < last < one.span.end else last
    return first, last


def _has_letters(text: str) -> bool:
    return any(character.isalpha() for character in text)


def _terms(path: Path | None) -> list[str]:
    """One term per line; blank lines and lines that begin with # do not count."""
    lines = [] if path is None else [normalise(line) for _, line in TextFiles().lines(path)]
    return [line for line in lines if line and not line.startswith("#")]
