"""Names of people: a first name, and what stands behind it or a title. Neither is translated, though a surname may be
a word (Susan Wood, Ms. Young), and a first name may have a form of its own in the target language (Mary)."""

from __future__ import annotations

import re

from fenster.language import Language
from fenster.language.spans import any_of

_SURNAME = r"[A-Z][a-z]+(?:[A-Z][a-z]+)?"
_SURNAME_IN_CAPITALS = r"[A-Z]{2,}(?:-[A-Z]{2,})?"
_INITIALS = r"(?: [A-Z]\.)*"
_MOST_CAPITALS = 2  # words beside names that all have capitals, in what is no heading
_WORD = re.compile(r"[^\W\d_]{4,}")


class People:
    def __init__(self, language: Language) -> None:
        first = any_of(language.first_names)
        self._pair = re.compile(rf"(?<![\w'’.-])({first}){_INITIALS} (?=({_SURNAME})(?![\w-]))")
        sure = any_of(name.upper() for name in {*language.first_names} - {*language.first_names_and_words})
        self._in_capitals = re.compile(
            rf"(?:^|(?<=[,:;(/] )|(?<=[(/]))(?:{sure}){_INITIALS} ({_SURNAME_IN_CAPITALS})(?=[,:;)/]|[.!?]?$)"
        )
        self._titled = re.compile(
            rf"(?<![\w'’.-])(?:{any_of(language.titles)})\.?{_INITIALS} ({_SURNAME})"
            rf"(?![\w-]|['’][a-z]{{2}}| (?:{any_of(language.offices)})\b)"
        )
        self._offices = {*language.offices}
        self._ruler = re.compile(rf"\b(?:{any_of(language.no_surname_after)})\.? $")
        self._ordinary = {*language.common_words, *language.leading_words, *language.numbers.months}
        self._days = {*language.weekdays}

    def in_capitals(self, text: str) -> list[tuple[int, int]]:
        """Where a text in capitals has a first name and a surname, and nothing else beside stops: JOHN A. SMITH."""
        if not text.isupper():
            return []
        matches = self._in_capitals.finditer(text)
        return [match.span() for match in matches if match.group(1).lower() not in self._ordinary]

    def titled(self, text: str) -> tuple[str, ...]:
        """Surnames behind a title, each once: Ms. Young."""
        names = dict.fromkeys(match.group(1) for match in self._titled.finditer(text))
        return tuple(name for name in names if name not in self._offices)

    def names(self, text: str) -> tuple[str, ...]:
        """First names and surnames that stand beside each other, each once. In a heading of Capitalised Words nothing
        shows what is a name."""
        names: dict[str, None] = {}
        for match in self._pair.finditer(text):
            first, surname = match.groups()
            if surname.lower() in self._ordinary or surname in self._days:
                continue
            if not self._ruler.search(text[: match.start()]):
                names |= {first: None, surname: None}
        others = [word for word in _WORD.findall(text) if word not in names]
        is_heading = len(others) > _MOST_CAPITALS and all(word[0].isupper() for word in others)
        return () if is_heading else tuple(names)
