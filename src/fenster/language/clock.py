"""Times of day: 9:30 pm is 21:30 in German, half past seven halb acht, ten to four zehn vor vier."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from fenster.language import NumberStyle
from fenster.language.spans import any_of

# The last stop of "9 a.m." at the end of a sentence is the sentence's.
_HALF = r"[apAP](?:\.[mM]\.(?=\s*\S)|\.[mM](?=\.\s*$)|[mM]\b)"
_CLOCK = r"\d{1,2}(?:[:.]\d{2})?"


class Clock:
    """The times of one language pair. Each kind has a regular expression, and writes what that matched."""

    def __init__(self, source: NumberStyle, target: NumberStyle) -> None:
        self._source, self._target = source, target

    @property
    def patterns(self) -> dict[str, str]:
        ranges = any_of(self._source.time_ranges)
        return {
            "phrase": self.phrase.pattern,
            "hours": rf"{_CLOCK}(?: ?{_HALF})? ?[-–] ?{_CLOCK} ?{_HALF}",
            "range": rf"{_CLOCK}(?= ?(?:{ranges}) ?{_CLOCK} ?{_HALF})",
            "time": rf"\d{{1,2}}(?:[:.]\d{{2}}(?::\d{{2}})?)? ?{_HALF}|\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?:[.,]\d+)?",
        }

    @cached_property
    def phrase(self) -> re.Pattern[str]:
        """Times in words; nothing if the target has no words of its own for them."""
        halves = any_of(form for phrase in self._halves for form in (phrase, phrase[0].upper() + phrase[1:]))
        before = "|".join(rf"(?<=\b{re.escape(word)} )" for word in self._source.clock_words) or "(?!)"
        minutes = f"(?:{before})(?:{any_of(self._minutes)})(?={self._source.clock_after})"
        return re.compile(f"(?:{halves})|{minutes}" if self._halves else "(?!)")

    @cached_property
    def _halves(self) -> dict[str, str]:
        """Half past one, two … twelve, and what it is in the target language."""
        if not self._source.half_past or not self._target.half_past:
            return {}
        return {
            **dict(zip(_half_hours(self._source), _half_hours(self._target), strict=True)),
            **dict(zip(_half_hours(self._source, digits=True), _half_hours(self._target), strict=True)),
        }

    @cached_property
    def _minutes(self) -> dict[str, str]:
        """Five to one, ten to one …"""
        source, target = self._source, self._target
        if not source.minutes_to or not target.minutes_to:
            return {}
        return {
            source.minutes_to.format(minutes=source.minutes[count], hour=hour): target.minutes_to.format(
                minutes=target.minutes[count], hour=hour_there
            )
            for count in source.minutes
            for hour, hour_there in zip(source.hours, target.hours, strict=True)
        }

    def write_phrase(self, match: re.Match[str]) -> list[str]:
        phrase = match.group()
        known = {**self._minutes, **self._halves}
        written = known.get(phrase) or known[phrase[0].lower() + phrase[1:]]
        return [written[0].upper() + written[1:] if phrase[0].isupper() else written]

    def write_hours(self, match: re.Match[str]) -> list[str]:
        """9 am–5 pm, 9-5pm."""
        parts = re.fullmatch(rf"({_CLOCK})( ?{_HALF})? ?([-–]) ?(.*)", match.group())
        assert parts is not None
        first, half, dash, second = parts.groups()
        begin = f"{first} {self._half_of(first, second)}m" if half is None else first + half
        forms = zip(self._clock(begin if half else first, begin), self._clock(second, second), strict=False)
        return [f"{one}{dash}{other}" for one, other in forms]

    def write_range(self, match: re.Match[str]) -> list[str]:
        """The first of two times of which only the second says am or pm: 11 to 1 pm begins in the morning."""
        half = self._half_of(match.group(), match.string[match.end() :])
        return self._clock(match.group(), f"{match.group()} {half}m")

    def _half_of(self, first: str, rest: str) -> str:
        """The half of the day of a time, from the one after it."""
        second = re.match(r"\D*(\d{1,2})(?:[:.]\d{2})? ?([ap])", rest, re.IGNORECASE)
        assert second is not None
        half, hour = second[2].lower(), int(re.split("[:.]", first)[0])
        if hour != 12 and (int(second[1]) == 12 or hour > int(second[1])):
            half = "a" if half == "p" else "p"
        return half

    def write_time(self, match: re.Match[str]) -> list[str]:
        return self._clock(match.group(), match.group())

    def is_duration(self, match: re.Match[str]) -> bool:
        """True for what a clock does not show: 44:05, 3:59.4, what is said to have been done in some time, scores and
        ratios, verses."""
        text = match.group()
        if ":" not in text or text[-1].lower() == "m" or text.endswith("."):  # am, p.m.
            return False
        before = re.search(r"\b(\w+) $", match.string[: match.start()])
        word = "" if before is None else before[1].lower()
        style = self._source
        if int(text.split(":")[0]) > 24 or "." in text or word in (*style.duration_words, *style.books):
            return True
        said = re.findall(r"[\w-]+", re.split(r"[.!?;] ", match.string[: match.start()])[-1].lower())
        return word not in style.time_words and not {*said}.isdisjoint(style.score_words)

    def _clock(self, plain: str, whole: str) -> list[str]:
        """The forms of a time; `whole` says am or pm, which `plain` may leave out."""
        clock = re.fullmatch(r"(\d{1,2})(?:[:.](\d{2}))?(:\d{2})?([.,]\d+)? ?(?:([ap])\.?m\.?)?", whole.lower())
        assert clock is not None
        hour, minute, second, fraction, half = clock.groups()
        if half is None or self._target.clock == 12:
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

    def with_hour_word(self, values: Iterable[str]) -> list[tuple[str, str]]:
        """What a model may make of a time in words, and what it should be: halb acht Uhr is halb acht."""
        phrases = {phrase.lower() for phrase in (*self._halves.values(), *self._minutes.values())}
        return [(f"{value} {self._target.hour_word}", value) for value in values if value.lower() in phrases]


def _half_hours(style: NumberStyle, digits: bool = False) -> list[str]:
    if digits:
        return [style.half_past.format(hour=hour, next=hour % 12 + 1) for hour in range(1, 13)]
    following = style.hours[1:] + style.hours[:1]
    return [style.half_past.format(hour=hour, next=after) for hour, after in zip(style.hours, following, strict=True)]
