"""Weekdays and months that are abbreviated, in full: models have seen few of them. Many abbreviations are also words
or names (Sun, Jan), so that what stands beside them has to show what they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from fenster.language import Language
from fenster.language.spans import any_of

_STOP = r"(?:\.(?=,|\s?[-–/]|\s[a-z\d\0]))?"  # a stop that ends the sentence stays
_END = rf"(?![\w'’]|[-–]\w|\.\w){_STOP}"
_LISTED = rf"(?![\w'’]|\.\w){_STOP}"
_DAY = r"(?:[12]?\d|3[01])(?:st|nd|rd|th)?(?![\w.,:/]?\d)"  # of a month
_CLOSED = r"(?=[,;:!?)]|\.?$|\.\s"  # what may follow, to be completed
_START = r"(?<![\w'’.-])"


class Abbreviations:
    def __init__(self, language: Language) -> None:
        days, months = _by_abbreviation(language.weekdays), _by_abbreviation(language.month_abbreviations)
        names = set(language.abbreviated_names)
        day, month = (rf"{_START}(?:{any_of(one)}){_END}" for one in (days, months))
        any_day = any_of([*days, *language.weekdays])
        any_month = any_of([*months, *language.month_abbreviations, *language.short_months])
        before, links, parts = map(any_of, (language.weekday_words, language.list_words, language.parts_of_day))
        no_date = rf"(?! (?:{any_of(language.no_date_words)})\b)"
        dash = r"\s?[-–/]\s?"
        joint = rf"(?:,? (?:{links}) |\s?[,&]\s?|{dash})"
        date = rf"(?:{_DAY}{no_date}|\d{{4}}(?!\d)|\0)"
        expand_days, expand_months = _expander(days, language.range_word), _expander(months, language.range_word)
        certain_days, certain_months = (rf"{_START}(?:{any_of(set(one) - names)}){_LISTED}" for one in (days, months))
        list_of_days = rf"{_START}(?:{any_day}){_LISTED}(?:{joint}(?:{any_day}){_LISTED})+(?!-\w)"
        range_of_months = rf"{_START}(?:{any_month}){_LISTED}(?:{dash}(?:{any_month}){_LISTED})+(?!-\w)"
        list_of_months = rf"{_START}(?:{any_month}){_LISTED}(?:{joint}(?:{any_month}){_LISTED})+(?!-\w)"
        self._rules: list[tuple[re.Pattern[str], Callable[[str], str]]] = [
            (re.compile(list_of_days), expand_days),
            (re.compile(range_of_months), expand_months),
            (re.compile(list_of_months), _if_certain(certain_months, expand_months)),
            (re.compile(rf"{month}(?= {date})"), expand_months),
            (re.compile(rf"(?<![\w.,:]){_DAY}(?: of)? {month}{_CLOSED}|,? \d{{4}}| (?:{links})\b)"), expand_months),
            (re.compile(rf"(?<![Tt]he ){day}(?=,? (?:{any_month})\b)"), expand_days),
            (
                re.compile(rf"(?<![Tt]he ){day}(?=,? (?:{_DAY}(?: of)? (?:{any_month})\b|\0(?:[,.;)–-]|$)))"),
                expand_days,
            ),
            (re.compile(rf"(?<![Tt]he ){day}(?=,? {_DAY}(?:[,.;)]|$| ?[ap]\.?m|-|–))"), expand_days),
            (re.compile(rf"(?<!\w)(?:{before}) {day}(?:(?<=\.)|{_CLOSED}| (?:\d|(?:{parts})\b)))"), expand_days),
            (re.compile(rf"^{certain_days}\.?$"), expand_days),
            (re.compile(rf"^{certain_months}\.?$"), expand_months),
        ]

    def expanded(self, text: str) -> str:
        for pattern, expand in self._rules:
            text = pattern.sub(lambda match, expand=expand: expand(match.group()), text)  # type: ignore[misc]
        return text


def _by_abbreviation(names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {short: name for name, shorts in names.items() for short in shorts}


def _if_certain(pattern: str, expand: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: expand(text) if re.search(pattern, text) else text


def _expander(names: Mapping[str, str], range_word: str) -> Callable[[str], str]:
    abbreviation = re.compile(rf"(?<!\w)({any_of(names)})(?!\w){_STOP}(?:\.$)?")
    dash = re.compile(r"(?<=[a-z])\.?\s?[-–]\s?(?=[A-Z])")

    def expand(text: str) -> str:
        return abbreviation.sub(lambda match: names[match.group(1)], dash.sub(f" {range_word} ", text))

    return expand
