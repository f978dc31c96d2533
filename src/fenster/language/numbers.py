"""Figures: found in the source language's notation, written in the target language's.

216,196 is 216.196 in German, 1.5 is 1,5, $50 is 50 $, 9:30 pm is 21:30. Half hours in words count as figures, since a
model easily takes the wrong hour: half past seven is halb acht. What is ambiguous (a date such as 3/4/2025) or a name
and no quantity (version 1.5) stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from fenster.language import Language, NumberStyle
from fenster.language.spans import Span

_SIGNS = "€$£¥"
_CODES = "EUR|USD|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|PLN|CZK|CNY|INR"
_DIGIT = re.compile(r"\d")
# Not inside a longer number or word; behind the dash of a range the second number counts, and its dash is no sign.
_BEFORE = r"(?:(?<![\w.,:/'’%‰-])(?<![.,:/]\d)|(?<=[\d%‰mM][-–]))"
_UNITS = r"(?:[kmcdµμ]?m|[km]?g|m?l|[KMGT]i?B|[kMGT]?bit|[kMG]?Hz|[kM]?W|kWh|[mk]?V|m?A|km/h|mph|°[CF]|px|pt|dpi|°)"
_AFTER = rf"(?:(?!\w)|(?={_UNITS}(?!\w)))(?![.,:/'’]\d)"


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
        self._source = source

    def find(self, text: str) -> list[WrittenNumber]:
        """Numbers with separators, percentages, amounts, dates, times, and long ones, in order."""
        numbers: list[WrittenNumber] = []
        if not _DIGIT.search(text) and self._half_hour.search(text) is None:
            return numbers
        writers = {
            "half": self._half,
            "date": self._date,
            "range": self._range_start,
            "time": self._time,
            "large": self._large,
            "amount": self._amount,
            "coded": self._coded,
            "percentage": self._percentage,
            "quantity": self._quantity,
        }
        for match in self._pattern.finditer(text):
            kind = match.lastgroup or ""
            forms = writers[kind](match)
            name = "time" if kind in ("half", "range", "time") else "number"
            has_words = kind in ("half", "large")
            numbers.append(WrittenNumber(Span(*match.span(), name), tuple(dict.fromkeys(forms)), has_words))
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

    def with_hour_word(self, values: Iterable[str]) -> list[tuple[str, str]]:
        """What a model may make of a half hour in words, and what it should be: halb acht Uhr is halb acht."""
        phrases = [phrase.lower() for phrase in _half_hours(self.target)] if self.target.half_past else []
        return [(f"{value} {self.target.hour_word}", value) for value in values if value.lower() in phrases]

    @cached_property
    def _half_hour(self) -> re.Pattern[str]:
        """Half past an hour in words; nothing if the target has no words of its own for it."""
        if not self.source.half_past or not self.target.half_past:
            return re.compile("(?!)")
        first = self.source.half_past[0]
        return re.compile(f"[{first.upper()}{first}](?:{_any(phrase[1:] for phrase in _half_hours(self.source))})")

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        group, decimal = re.escape(self.source.group), re.escape(self.source.decimal)
        grouped = rf"\d{{1,3}}(?:{group}\d{{3}})+(?:{decimal}\d+)?"
        foreign = rf"\d{{1,3}}(?:{decimal}\d{{3}})+{group}\d+"  # 1.200,50 in English
        bare = rf"(?<!\d){decimal}\d+"  # .5
        structured = rf"(?:{grouped}|{foreign}|\d+{decimal}\d+|\d{{5,}})"
        number = rf"(?:{grouped}|{foreign}|\d+{decimal}\d+|{bare}|\d+)"
        scale = _any(self.source.scales)
        large = _any(word for word, power in self.source.scales.items() if power in self.target.scale_words)
        # The last stop of "9 a.m." at the end of a sentence is the sentence's.
        half = r"[apAP](?:\.[mM]\.(?=\s*\S)|\.[mM](?=\.\s*$)|[mM]\b)"
        clock = r"\d{1,2}(?:[:.]\d{2})?"
        kinds = {
            "half": self._half_hour.pattern,
            "range": rf"{clock}(?= ?(?:{_any(self.source.time_ranges)}) ?{clock} ?{half})",
            "date": r"\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?|\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})|\d{1,2}\.\d{1,2}\.\d{4}",
            "time": rf"\d{{1,2}}(?:[:.]\d{{2}}(?::\d{{2}})?)? ?{half}|\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?:[.,]\d+)?",
            "large": rf"[-−]?[{_SIGNS}] ?{number}[ -]?(?:{large})\b(?!-)|(?:{_CODES}) ?{number} ?(?:{large})\b(?!-)",
            "amount": rf"[-−]?[{_SIGNS}] ?[-−]?{number}(?! ?(?:{scale})\b)|(?<!\^){number} ?[{_SIGNS}]",
            "coded": rf"(?:{_CODES}) ?{number}(?! ?(?:{scale})\b)|{number} ?(?:{_CODES})\b",
            "percentage": rf"[-−+±]?{number} ?[%‰]",
            "quantity": rf"[-−+±]?{structured}|{bare}",
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
        if int(day) <= 12 or int(month) > 12:  # may be read either way, or is no date
            return [date]
        parts = (day, month, year) if self.target.date == "day-first" else (month, day, year)
        separator = self.target.date_separator
        padded = [part.zfill(2) if len(part) < 3 else part for part in parts]
        return [separator.join(parts), separator.join(padded), date]

    def _range_start(self, match: re.Match[str]) -> list[str]:
        """The first of two times of which only the second says am or pm: 11 to 1 pm begins in the morning."""
        second = re.match(r"\D*(\d{1,2})(?:[:.]\d{2})? ?([ap])", match.string[match.end() :], re.IGNORECASE)
        assert second is not None
        half, first = second[2].lower(), int(re.split("[:.]", match.group())[0])
        if first != 12 and (int(second[1]) == 12 or first > int(second[1])):
            half = "a" if half == "p" else "p"
        return self._clock(match.group(), f"{match.group()} {half}m")

    def _time(self, match: re.Match[str]) -> list[str]:
        return self._clock(match.group(), match.group())

    def _clock(self, plain: str, whole: str) -> list[str]:
        """The forms of a time; `whole` says am or pm, which `plain` may leave out."""
        clock = re.fullmatch(r"(\d{1,2})(?:[:.](\d{2}))?(:\d{2})?([.,]\d+)? ?(?:([ap])\.?m\.?)?", whole.lower())
        assert clock is not None
        hour, minute, second, fraction, half = clock.groups()
        if half is None or self.target.clock == 12:
            return [plain, plain.replace(":", ".")] if half is None else [plain]
        if not 1 <= int(hour) <= 12:
            return [plain]
        number = int(hour) % 12 + (12 if half == "p" else 0)
        rest = (f":{minute}" if minute else "") + (second or "") + (fraction or "")
        return [
            f"{number}{rest}",
            f"{number:02d}{rest}",
            f"{number}{rest}".replace(":", "."),
            *([] if minute else [f"{number}:00", f"{number}.00"]),
            f"{int(hour)}{rest}",
        ]

    def _half(self, match: re.Match[str]) -> list[str]:
        hour = _half_hours(self.source).index(match.group()[0].lower() + match.group()[1:])
        written = _half_hours(self.target)[hour]
        return [written[0].upper() + written[1:] if match.group()[0].isupper() else written]

    def _large(self, match: re.Match[str]) -> list[str]:
        """An amount with its scale in words, and so with its currency in words."""
        parts = re.fullmatch(rf"([-−]?)([{_SIGNS}]|[A-Z]+) ?(.*?)[ -]?([A-Za-z]+)", match.group())
        assert parts is not None
        sign, currency, written, scale = parts.groups()
        one, several = self.target.scale_words[self.source.scales[scale]]
        word = one if written == "1" else several
        currencies = dict.fromkeys((*self.target.currency_words.get(currency, ())[:1], currency))
        return [f"{sign}{number} {word} {name}" for number in self._number(written) for name in currencies]

    def _amount(self, match: re.Match[str]) -> list[str]:
        whole = match.group()
        sign = next(character for character in whole if character in _SIGNS)
        numbers = self._number(whole.replace(sign, "").replace(" ", ""))
        words = self.target.currency_words.get(sign, ())
        after = [f"{number}{gap}{mark}" for number in numbers for mark in (sign, *words) for gap in (" ", "")]
        before = [f"{mark}{gap}{number}" for number in numbers for mark in (sign, *words) for gap in ("", " ")]
        return [*before, *after] if self.target.currency == "before" else [*after, *before]

    def _coded(self, match: re.Match[str]) -> list[str]:
        """An amount with the code of its currency, which stays on its side."""
        code = re.search(r"[A-Z]+", match.group())
        assert code is not None
        numbers = self._number(match.group().replace(code.group(), "").strip())
        first = match.group().startswith(code.group())
        return [f"{code.group()} {number}" if first else f"{number} {code.group()}" for number in numbers]

    def _percentage(self, match: re.Match[str]) -> list[str]:
        whole = match.group()
        mark = whole[-1]
        numbers = self._number(whole[:-1].strip())
        usual = self.target.percent.replace("%", mark)
        words = [f" {word}" for word in self.target.percent_words] if mark == "%" else []
        return [f"{number}{end}" for number in numbers for end in (usual, mark, f" {mark}", *words)]

    def _quantity(self, match: re.Match[str]) -> list[str]:
        number = match.group()
        if re.fullmatch(r"\d+", number) or self._is_name(match):
            return [number]
        return self._number(number)

    def _is_name(self, match: re.Match[str]) -> bool:
        """True after a label or a name (version 1.5, Python 3.12) and before a heading (1.1 Introduction): such
        figures are not quantities."""
        before, after = match.string[: match.start()], match.string[match.end() :]
        if self.source.group in match.group() or re.match(rf" ?(?:{_any(self.source.scales)})\b", after):
            return False
        if not before.strip():
            short = re.fullmatch(r"\d{1,2}\.\d{1,2}", match.group()) is not None
            return short and re.match(r"[.)]? [A-Z]", after) is not None
        last = re.search(r"(?P<word>[\w+#-]+)\.?[ (]$", before)
        if last is None:
            return False
        word = last["word"]
        if word.lower() in self.source.labels:
            return True
        starts_sentence = last.start() == 0 or re.search(r"[.!?:“”\"(]\s*$", before[: last.start()]) is not None
        if word.lower() in self.source.months:
            return False
        if starts_sentence:
            # Every sentence begins with a capital. "Python 3.12 is new" continues with a small word, "Add 1.5 cups"
            # with what is counted.
            following = re.match(r"\s*([A-Za-z]+)", after)
            counted = following is not None and following[1].lower() not in self._ordinary
            if counted or word.lower() in self._ordinary:
                return False
        return any(character.isupper() for character in word)

    @cached_property
    def _ordinary(self) -> frozenset[str]:
        """Words that begin a sentence and are no names."""
        return frozenset((*self._source.common_words, *self._source.leading_words))

    def _number(self, written: str) -> list[str]:
        """A number's forms in the target language."""
        source, target = self.source, self.target
        sign = written[0] if written[0] in "-−+±" else ""
        digits = written[len(sign) :]
        if _foreign(digits, source):
            source = NumberStyle.model_validate(
                {**source.model_dump(), "group": source.decimal, "decimal": source.group}
            )
        whole, _, fraction = digits.partition(source.decimal)
        whole = whole or "0"  # .5
        plain = whole.replace(source.group, "")
        end = f"{target.decimal}{fraction}" if fraction else ""
        forms = []
        if source.group in whole:
            grouped = _grouped(plain)
            forms = [sign + gap.join(grouped) + end for gap in (target.group, " ", "\u00a0", "\u202f", "")]
        else:
            forms = [sign + plain + end]
        if len(plain) > 4 and source.group not in whole:
            forms += [sign + gap.join(_grouped(plain)) + end for gap in (target.group, " ")]
        return [*forms, written]


def _half_hours(style: NumberStyle) -> list[str]:
    """Half past one, two … twelve in words."""
    following = style.hours[1:] + style.hours[:1]
    return [style.half_past.format(hour=hour, next=after) for hour, after in zip(style.hours, following, strict=True)]


def _any(words: Iterable[str]) -> str:
    """A pattern for any of some words; none matches nothing."""
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True))) or "(?!)"


def _foreign(digits: str, style: NumberStyle) -> bool:
    """True for 1.200,50 in a text of a language that writes 1,200.50."""
    return (
        style.decimal in digits and style.group in digits and digits.rindex(style.group) > digits.index(style.decimal)
    )


def _grouped(digits: str) -> list[str]:
    first = len(digits) % 3 or 3
    return [digits[:first], *(digits[at : at + 3] for at in range(first, len(digits), 3))]
