"""Weekdays and months that are abbreviated, in full: models have seen few of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from fenster.language import Language
from fenster.language.spans import any_of

_END = r"(?!\w)(?:\.(?=,|\s?[-–/]|\s[a-z\d\0]))?"  # a stop that ends the sentence stays
_NUMBER = r"[\d\0]"  # \0: a placeholder


class Abbreviations:
    def __init__(self, language: Language) -> None:
        days, months = _by_abbreviation(language.weekdays), _by_abbreviation(language.month_abbreviations)
        day, month = (rf"(?:{any_of(names)}){_END}" for names in (days, months))
        start = r"(?<![\w-])"
        number = rf"(?:{_NUMBER}|(?:{any_of([*months, *language.month_abbreviations])})\b)"
        before, links = (any_of(words) for words in (language.weekday_words, language.list_words))
        joint = rf"(?:,? (?:{links}) |\s?[,/&]\s?|\s?[-–]\s?)"
        self._rules: list[tuple[re.Pattern[str], Callable[[str], str]]] = [
            (re.compile(rf"{start}{day}(?:{joint}{day})+"), _expander(days, language.range_word)),
            (re.compile(rf"{start}{month}(?:{joint}{month})+"), _expander(months, language.range_word)),
            (re.compile(rf"{start}{day}(?=,? {number})"), _expander(days)),
            (re.compile(rf"(?<!\w)(?:{before}) {day}"), _expander(days)),
            (re.compile(rf"{start}{month}(?= {_NUMBER})"), _expander(months)),
            (re.compile(rf"(?:(?<={_NUMBER} )|(?<=(?:st|nd|rd|th) )|(?<=\bof )){month}"), _expander(months)),
            (re.compile(rf"^{day}$"), _expander(days)),
            (re.compile(rf"^{month}$"), _expander(months)),
        ]

    def expanded(self, text: str) -> str:
        for pattern, expand in self._rules:
            text = pattern.sub(lambda match, expand=expand: expand(match.group()), text)  # type: ignore[misc]
        return text


def _by_abbreviation(names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {short: name for name, shorts in names.items() for short in shorts}


def _expander(names: Mapping[str, str], range_word: str = "") -> Callable[[str], str]:
    abbreviation = re.compile(rf"(?<!\w)({any_of(names)}){_END}(?:\.$)?")

    def expand(text: str) -> str:
        if range_word:
            text = re.sub(r"\.?\s?[-–]\s?", f" {range_word} ", text)
        return abbreviation.sub(lambda match: names[match.group(1)], text)

    return expand
