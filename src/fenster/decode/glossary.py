"""Terms whose translation is prescribed: read from a file, found in the source, looked for in the translation."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fenster.data.text import normalise
from fenster.errors import InputError, counted
from fenster.io.files import TextFiles, bare_suffix
from fenster.language import Language
from fenster.language.inflection import inflected, stems

_HEADER = {"source", "target", "term", "translation", "english", "german", "en", "de"}
_SHORTEST_STEM = 4  # letters of a term that may be part of a compound
GivenTerms = Mapping[str, str | Sequence[str]]
"""Terms with their translations, or with all forms of them."""
_COLUMNS = "source,target, or source,target,forms, with | between forms"


@dataclass(frozen=True)
class GlossaryTerm:
    """A term of the glossary."""

    source: str
    target: str
    forms: tuple[str, ...]
    """How the translation may be written, the first being the term itself."""
    parts: tuple[str, ...] = ()
    """What a longer word may begin or end with to count as the term: compounds."""

    def __str__(self) -> str:
        return f"{self.source} → {self.target}"

    def is_in(self, translation: str) -> bool:
        """True if a translation has a form of the term, or a compound with it."""
        return self._pattern.search(translation) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        whole = rf"(?<!\w)(?:{_any(self.forms)})(?!\w)"
        parts = [] if not self.parts else [rf"\b(?:{_any(self.parts)})", rf"(?:{_any(self.parts)})\w{{0,3}}\b"]
        return re.compile("|".join([whole, *parts]), re.IGNORECASE)


class Glossary:
    """Longer terms win over terms within them. A term in small letters is found however it is capitalised."""

    def __init__(self, terms: Sequence[GlossaryTerm], source: Language | None) -> None:
        """Of several terms with the same source the first counts."""
        self.terms = tuple(terms)
        self._by_form: dict[str, GlossaryTerm] = {}
        for term in terms:
            for form in inflected(term.source, source):
                self._by_form.setdefault(form, term)
        forms = sorted(self._by_form, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_as_written, forms))) if forms else None

    def find(self, text: str) -> tuple[GlossaryTerm, ...]:
        """The terms that a text has, each once, in order."""
        matches = [] if self._pattern is None else self._pattern.findall(text)
        return tuple(dict.fromkeys(map(self._term, matches)))

    def with_targets(self, text: str, terms: Collection[GlossaryTerm]) -> str:
        """A source text with the translations of some terms in their places."""

        def written(match: re.Match[str]) -> str:
            term = self._term(match[0])
            if term not in terms:
                return match[0]
            return term.target[:1].upper() + term.target[1:] if match[0][:1].isupper() else term.target

        return text if self._pattern is None else self._pattern.sub(written, text)

    def _term(self, form: str) -> GlossaryTerm:
        """The term of a form as a text has it. Some letters have several small ones (µ and μ), hence the last way."""
        known = self._by_form
        return (
            known.get(form)
            or known.get(form.lower())
            or next(term for one, term in known.items() if re.fullmatch(_as_written(one), form))
        )


def read_glossary(path: Path, source: Language | None, target: Language | None) -> Glossary:
    """A .csv file (comma or semicolon) or .tsv file of terms; blank lines and lines that begin with # do not
    count."""
    terms: list[GlossaryTerm] = []
    lines = [(number, line) for number, line in TextFiles().lines(path) if line.strip() and line[0] != "#"]
    delimiter = _delimiter(path, [line for _, line in lines])
    for index, (number, line) in enumerate(lines):
        try:
            columns = [normalise(column) for column in next(csv.reader([line], delimiter=delimiter))]
        except csv.Error as error:
            raise InputError(f"cannot be read ({error})", path=path, line=number, expected=_COLUMNS) from None
        if index == 0 and {column.casefold() for column in columns[:2]} <= _HEADER:
            continue
        if len(columns) not in (2, 3) or not all(columns[:2]):
            raise InputError(
                f"{counted(len(columns), 'column')}, or an empty one", path=path, line=number, expected=_COLUMNS
            )
        terms.append(_term(columns, target))
    if not terms:
        raise InputError("no terms", path=path, expected=f"one per line: {_COLUMNS}")
    return Glossary(terms, source)


def read_terms(given: GivenTerms, target: Language | None) -> list[GlossaryTerm]:
    """Terms that a program gives."""
    terms: list[GlossaryTerm] = []
    for source, forms in given.items():
        written = [normalise(form) for form in ([forms] if isinstance(forms, str) else forms)]
        if not normalise(source) or not all(written) or not written:
            raise InputError(f"the glossary's term {source!r} or its translation is empty")
        terms.append(_term([normalise(source), written[0], "|".join(written[1:])], target))
    return terms


def _term(columns: Sequence[str], language: Language | None) -> GlossaryTerm:
    source, target, *given = columns
    if given and given[0]:
        forms = [form.strip() for form in given[0].split("|") if form.strip()]
        return GlossaryTerm(source, target, tuple(dict.fromkeys([target, *forms])))
    compounds = " " not in target and len(target) >= _SHORTEST_STEM
    return GlossaryTerm(
        source, target, tuple(inflected(target, language)), tuple(stems(target, language)) if compounds else ()
    )


def _delimiter(path: Path, lines: Sequence[str]) -> str:
    if bare_suffix(path) in (".tsv", ".txt") or all("\t" in line for line in lines):
        return "\t"
    return ";" if all(";" in line for line in lines) else ","


def _as_written(form: str) -> str:
    """A regular expression for a form as a whole word; in small letters it matches capitals as well."""
    escaped = re.escape(form)
    return rf"(?<!\w)(?:{f'(?i:{escaped})' if form.islower() else escaped})(?!\w)"


def _any(texts: Sequence[str]) -> str:
    return "|".join(map(re.escape, texts))
