"""Figures: found in the source language's notation, written in the target language's.

216,196 is 216.196 in German, 1.5 is 1,5, $50 is 50 $, 9:30 pm is 21:30. Half hours in words count as figures, since a
model easily takes the wrong hour: half past seven is halb acht. What is ambiguous (a date such as 3/4/2025) or a name
and no quantity (version 1.5) stays as it is.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple

from fenster.language import Language
from fenster.language.cardinals import Cardinals
from fenster.language.clock import Clock
from fenster.language.labels import Labels
from fenster.language.notation import Notation, grouped
from fenster.language.spans import Span, any_of
from fenster.language.unit_symbols import UNIT_SYMBOLS

_SIGNS = "€$£¥"
_DOLLARS = "US|AU|CA|HK|NZ|NT|MX|A|C|S|R"  # before $
_CODES = "EUR|USD|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|PLN|CZK|CNY|INR"
_WITH_WORDS = ("phrase", "large", "thousand", "measure", "cardinal", "era")
_DIGIT = re.compile(r"\d")
# Not inside a longer number or word; behind the dash of a range the second number counts, and its dash is no sign.
_BEFORE = r"(?:(?<![\w.,:/'’%‰-])(?<![.,:/]\d)|(?<=[\d%‰mMkKBT][-–]))"
_AFTER = rf"(?:(?!\w)|(?={UNIT_SYMBOLS}(?!\w)))(?![.,:/'’]\d)"


class WrittenNumber(NamedTuple):
    """A number of the source. The kind of its `span` is "number" or "time"; `forms` are the ways of the target
    language to write it, the usual one first."""

    span: Span
    forms: tuple[str, ...]
    has_words: bool = False
    """True if words of the source language are part of it, so that it cannot stay as it is."""


class NumberConverter:
    """The numbers of one language pair."""

    def __init__(self, source: Language, target: Language) -> None:
        self.source, self.target = source.numbers, target.numbers
        self.clock, self._cardinals = Clock(self.source, self.target), Cardinals(self.source)
        self._labels, self._notation = Labels(source), Notation(self.source, self.target)

    def find(self, text: str) -> list[WrittenNumber]:
        """Numbers with separators, percentages, amounts, measures, dates, times, long ones and some in words."""
        numbers: list[WrittenNumber] = []
        if not _DIGIT.search(text) and not self._in_words.search(text):
            return numbers
        writers = {
            "phrase": self.clock.write_phrase,
            "date": self._date,
            "ratio": self._ratio,
            "hours": self.clock.write_hours,
            "range": self.clock.write_range,
            "measure": self._measure,
            "time": self.clock.write_time,
            "era": self._era,
            "large": self._large,
            "thousand": self._in_thousands,
            "amount": self._amount,
            "coded": self._coded,
            "percentage": self._percentage,
            "thousands": self._thousands,
            "fraction": _as_it_is,
            "power": _as_it_is,
            "between": _as_it_is,
            "quantity": self._quantity,
            "cardinal": self._cardinal,
        }
        for match in self._pattern.finditer(text):
            kind = match.lastgroup or ""
            forms = writers[kind](match)
            if not forms:
                continue
            duration = kind == "time" and self.clock.is_duration(match)
            is_time = kind in ("phrase", "hours", "range", "time") and not duration
            has_words = kind in _WITH_WORDS and match.group() not in forms
            span = Span(*match.span(), "time" if is_time else "number")
            numbers.append(WrittenNumber(span, tuple(dict.fromkeys(forms)), has_words))
        return numbers

    def without_equals(self, source: str, target: str) -> tuple[str, str]:
        """Both texts without the numbers of the source that the target has in a notation of its own, or in words."""
        for (start, end, _), forms, _ in reversed(self.find(source)):
            written = next((form for form in forms if form in target), None)
            if written is not None:
                source, target = source[:start] + source[end:], target.replace(written, " ", 1)
        for match in reversed(list(re.finditer(r"(?<![\w.,])(\d{1,2})(?:st|nd|rd|th|s)?(?![\w.,]\d)(?!\w)", source))):
            value = int(match[1])
            words = self.target.number_words[value] if value < len(self.target.number_words) else "(?!)"
            in_words = re.search(rf"\b(?:{words})", target, re.IGNORECASE) is not None
            if in_words and not re.search(rf"(?<!\d){value}(?!\d)", target):
                source = source[: match.start()] + source[match.end() :]
        return source, target

    @cached_property
    def _in_words(self) -> re.Pattern[str]:
        """Numbers that have no digit."""
        measure = rf"{self._in_words_before_unit}[ -](?:{self._units})(?!\w)"
        return re.compile("|".join((self.clock.phrase.pattern, self._cardinals.pattern, measure)))

    @cached_property
    def _units(self) -> str:
        return any_of(spelling for spellings in self.source.units.values() for spelling in spellings)

    @cached_property
    def _in_words_before_unit(self) -> str:
        return rf"(?!{self.source.no_measure}){self._cardinals.before_unit}"

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        group, decimal = re.escape(self.source.group), re.escape(self.source.decimal)
        grouped = rf"\d{{1,3}}(?:{group}\d{{3}})+(?:{decimal}\d+)?"
        foreign = rf"\d{{1,3}}(?:{decimal}\d{{3}})+{group}\d+"  # 1.200,50 in English
        bare = rf"(?<!\d){decimal}\d+"  # .5
        structured = rf"(?:{grouped}|{foreign}|\d+{decimal}\d+|\d{{5,}})"
        number = rf"(?:{grouped}|{foreign}|\d+{decimal}\d+|{bare}|\d+)"
        ranged = rf"{number}(?:[-–]{number})?"
        fraction = r"(?:\d{1,3}[ -])?\d{1,2}/\d{1,3}(?![/\d])"
        scale = any_of(self.source.scales)
        short = any_of(word for word in self.source.scales if len(word) == 2)  # bn; m may be metres
        in_words = {**self.target.scale_words, 3: None}
        large = any_of(
            word for word, power in self.source.scales.items() if power in in_words and (power > 3 or len(word) > 1)
        )
        suffix = any_of(self.source.suffixes)
        millions = any_of(one for one, power in self.source.suffixes.items() if len(one) == 1 and power in (6, 9))
        thousand = any_of(word for word, power in self.source.scales.items() if power == 3 and len(word) > 1)
        sign = rf"(?:(?:{_DOLLARS})?\$|[{_SIGNS}])"
        clock = self.clock.patterns
        kinds = {
            "phrase": clock["phrase"],
            "hours": clock["hours"],
            "range": clock["range"],
            "date": r"\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?|\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})|\d{1,2}\.\d{1,2}\.\d{4}",
            "ratio": rf"\d{{1,3}}:\d{{1,3}}(?:{group}\d{{3}})+",
            "era": rf"(?:{grouped}|\d{{1,4}}) (?:{self._eras})",
            "measure": rf"(?:{fraction}|{ranged}|{self._in_words_before_unit})[ -]?(?:{self._units})(?!\w|-\w)"
            rf"(?:\.(?= [a-z\d]))?(?:{self.source.unit_link})?",
            "time": clock["time"],
            "large": rf"[-−]?{sign} ?{ranged}(?:[ -]?(?:{large})\b(?!-[A-Za-z])|(?:{suffix})\b(?!-[A-Za-z]))"
            rf"|(?:{_CODES}) ?{ranged} ?(?:{large})\b(?!-[A-Za-z])|{ranged} ?(?:{short})\b(?!-[A-Za-z])"
            rf"|\d+{decimal}\d+(?:{millions})(?= [a-z]+s\b)",
            "thousand": rf"(?:{grouped}|\d+(?:{decimal}\d+)?) (?:{thousand})(?!\w)",
            "amount": rf"[-−]?{sign} ?[-−]?{ranged}(?![ -]?(?:{scale})\b)|(?<!\^){ranged} ?[{_SIGNS}]",
            "coded": rf"(?:{_CODES}) ?{ranged}(?! ?(?:{scale})\b)|{ranged} ?(?:{_CODES})\b",
            "percentage": rf"[-−+±]?{ranged} ?[%‰]",
            "thousands": rf"{ranged}[kK](?!\w)",
            "fraction": fraction,
            "power": rf"\d+(?:{decimal}\d+)?[eE][-+]?\d+",
            "between": r"(?<!\d[-–])\d{1,4}[-–]\d{1,4}(?![-–]\d)",
            "quantity": rf"[-−+±]?{structured}|{bare}",
            "cardinal": self._cardinals.pattern,
        }
        return re.compile("|".join(rf"(?P<{kind}>{_BEFORE}(?:{p}){_AFTER})" for kind, p in kinds.items()))

    def _date(self, match: re.Match[str]) -> list[str]:
        date = match.group()
        if "/" not in date:
            return [date]
        first, second, year = date.split("/")
        month, day = (first, second) if self.source.date == "month-first" else (second, first)
        if int(month) > 12:  # the other order, then
            month, day = day, month
        if (int(day) <= 12 and int(day) != int(month)) or int(month) > 12:  # may be read either way, or is no date
            return [date]
        parts = (day, month, year) if self.target.date == "day-first" else (month, day, year)
        separator = self.target.date_separator
        padded = [part.zfill(2) if len(part) < 3 else part for part in parts]
        return [separator.join(parts), separator.join(padded), date]

    def _ratio(self, match: re.Match[str]) -> list[str]:
        """1:25,000."""
        first, _, second = match.group().partition(":")
        return [f"{first}:{number}" for number in self._notation.forms(second)]

    @cached_property
    def _eras(self) -> str:
        spellings = [spelling for spellings in self.source.eras.values() for spelling in spellings]
        bare = any_of(spelling for spelling in spellings if "." not in spelling)
        return rf"{any_of(one for one in spellings if '.' in one)}|(?:{bare})(?=[ ]?[-–]|{self.source.era_follows})"

    def _era(self, match: re.Match[str]) -> list[str]:
        """44 BC."""
        year, spelling = match.group().split(" ")
        name = next(name for name, spellings in self.source.eras.items() if spelling in spellings)
        word = self.target.era_words.get(name, spelling)
        return [f"{number} {word}" for number in self._notation.forms(year)]

    def _measure(self, match: re.Match[str]) -> list[str]:
        """A number with its unit: 6 feet, 6-foot."""
        parts = re.match(rf"(.*?)([ -]?)({self._units})(?!\w)", match.group())
        assert parts is not None
        written, link, spelling = parts.groups()
        is_one = written == "1" or "/" in written
        if link == " " and not is_one and spelling.split()[-1] in self.source.singular_units:
            return []
        name = next(name for name, spellings in self.source.units.items() if spelling in spellings)
        one, several, *joined = self.target.unit_words.get(name, (spelling, spelling))
        word = (joined[0] if joined else several) if link == "-" else one if written == "1" else several
        numbers = self._notation.forms(written) if _DIGIT.search(written) else self._counted(written)
        return [f"{number}{'-' if link == '-' else ' '}{word}" for number in numbers]

    def _counted(self, written: str) -> list[str]:
        """A number in words before a unit: up to twelve in words, otherwise in figures. (One foot is left alone.)"""
        value = self._cardinals.amount(written)
        if value is None or value < 2:
            return []
        if value > len(self.target.hours):
            return [self._notation.figures(value)]
        word = self.target.hours[value - 1]
        return [word.capitalize() if written[0].isupper() else word]

    def _cardinal(self, match: re.Match[str]) -> list[str]:
        """A number in words, in figures."""
        value = self._cardinals.value(match)
        return [] if value is None else [self._notation.figures(value)]

    def _large(self, match: re.Match[str]) -> list[str]:
        """An amount with its scale in words, and so with its currency in words."""
        parts = re.fullmatch(rf"([-−]?)((?:{_DOLLARS})?[{_SIGNS}]|[A-Z]+|) ?(.*?)[ -]?([A-Za-z]+)", match.group())
        assert parts is not None
        sign, currency, written, scale = parts.groups()
        power = (self.source.scales | self.source.suffixes)[scale]
        if self._notation.is_foreign(written):
            return []
        if power not in self.target.scale_words:  # $5K
            plain = (one.replace(self.source.group, "") for one in re.split("[-–]", written))
            values = (int(Decimal(one.replace(self.source.decimal, ".")) * 10**power) for one in plain)
            whole = "–".join(self.source.group.join(grouped(str(value))) for value in values)
            return [f"{sign}{number} {currency}" for number in self._notation.forms(whole)]
        one, several = self.target.scale_words[power]
        word = one if written == "1" else several
        currencies = dict.fromkeys((*self.target.currency_words.get(currency, ())[:1], currency))
        made = (f"{sign}{number} {word} {name}" for number in self._notation.forms(written) for name in currencies)
        return [amount.rstrip() for amount in made]

    def _in_thousands(self, match: re.Match[str]) -> list[str]:
        """35.5 thousand."""
        written = match.group().split(" ")[0].replace(self.source.group, "").replace(self.source.decimal, ".")
        value = Decimal(written) * 1000
        return [self._notation.figures(int(value))] if value == int(value) else []

    def _amount(self, match: re.Match[str]) -> list[str]:
        whole = match.group()
        found_sign = re.search(rf"(?:{_DOLLARS})?[{_SIGNS}]", whole)
        assert found_sign is not None
        sign = found_sign.group()
        numbers = self._notation.forms(whole.replace(sign, "").replace(" ", ""))
        words = self.target.currency_words.get(sign, ())
        after = [f"{number}{gap}{mark}" for number in numbers for mark in (sign, *words) for gap in (" ", "")]
        before = [f"{mark}{gap}{number}" for number in numbers for mark in (sign, *words) for gap in ("", " ")]
        return [*before, *after] if self.target.currency == "before" else [*after, *before]

    def _coded(self, match: re.Match[str]) -> list[str]:
        """An amount with the code of its currency, which stays on its side."""
        code = re.search(r"[A-Z]+", match.group())
        assert code is not None
        numbers = self._notation.forms(match.group().replace(code.group(), "").strip())
        first = match.group().startswith(code.group())
        return [f"{code.group()} {number}" if first else f"{number} {code.group()}" for number in numbers]

    def _percentage(self, match: re.Match[str]) -> list[str]:
        whole = match.group()
        mark = whole[-1]
        numbers = self._notation.forms(whole[:-1].strip())
        usual = self.target.percent.replace("%", mark)
        words = [f" {word}" for word in self.target.percent_words] if mark == "%" else []
        return [f"{number}{end}" for number in numbers for end in (usual, mark, f" {mark}", *words)]

    def _thousands(self, match: re.Match[str]) -> list[str]:
        """100k."""
        return [f"{number}{match.group()[-1]}" for number in self._notation.forms(match.group()[:-1])]

    def _quantity(self, match: re.Match[str]) -> list[str]:
        number = match.group()
        if re.fullmatch(r"\d+", number) or self._labels.is_name(match):
            return [number]
        return self._notation.forms(number)


def _as_it_is(match: re.Match[str]) -> list[str]:
    return [match.group()]
