"""Numbers above a hundred in words: six hundred and forty-one, which small models get wrong, is 641."""

from __future__ import annotations

import re
from functools import cached_property

from fenster.language import NumberStyle
from fenster.language.spans import any_of

_FEWEST_WORDS = 3  # three hundred is left to the model


class Cardinals:
    """The number words of one language."""

    def __init__(self, style: NumberStyle) -> None:
        self._style = style

    @cached_property
    def pattern(self) -> str:
        """Number words in a row: perhaps a number."""
        return rf"{self._words(1)}\b(?!-)" if self._style.cardinals else "(?!)"

    @cached_property
    def before_unit(self) -> str:
        """One number word or more."""
        return self._words(0) if self._style.cardinals else "(?!)"

    def _words(self, more: int) -> str:
        """Number words, at least so many after the first."""
        style = self._style
        word = any_of(style.cardinals)
        scales = any_of(name for name, value in style.cardinals.items() if value >= 100)
        one = rf"(?:{re.escape(style.cardinal_one)}(?= (?:{scales}))|{word})" if style.cardinal_one else f"(?:{word})"
        link = rf"(?:[ -]| {re.escape(style.cardinal_link)} )"
        return rf"(?ia:\b{one}\b(?:{link}(?:{word})\b){{{more},}})"

    def value(self, match: re.Match[str]) -> int | None:
        """The number that words stand for; None if they are none, or one that is better left in words."""
        values = self._values(match.group())
        before = re.search(r"\b(\w+) $", match.string[: match.start()])
        year = None if before is None else _year(values)
        if year is not None and before is not None and before[1].lower() in self._style.year_words:
            return year
        if len(values) < _FEWEST_WORDS or not any(value >= 100 for value in values):
            return None
        return _sum(values)

    def amount(self, text: str) -> int | None:
        """The number that the words before a unit stand for; None if they are none."""
        return _sum(self._values(text))

    def _values(self, text: str) -> list[int]:
        words = [word for word in re.findall(r"\w+", text.lower()) if word != self._style.cardinal_link]
        return [1 if word == self._style.cardinal_one else self._style.cardinals[word] for word in words]


def _year(values: list[int]) -> int | None:
    """Nineteen forty-five; twelve thirty is a time."""
    if len(values) < 2 or not 13 <= values[0] <= 20:
        return None
    rest = (
        values[1] if len(values) == 2 else sum(values[1:]) if len(values) == 3 and values[2] < 10 <= values[1] else 0
    )
    return 100 * values[0] + rest if 10 <= rest <= 99 else None


def _sum(values: list[int]) -> int | None:
    """What cardinals in a row stand for; None if no language would say them as one number."""
    total = group = 0
    smallest_scale, last = 10**18, 10**18
    for value in values:
        if value >= 1000:
            if not 0 < group < 1000 or value >= smallest_scale:
                return None
            total, group, smallest_scale, last = total + group * value, 0, value, 10**18
        elif value == 100:
            if not 0 < group < (100 if smallest_scale == 10**18 else 10):  # twelve hundred, but no thousand before it
                return None
            group, last = 100 * group, 100
        else:
            fits = value < (10 if 20 <= last <= 90 and last % 10 == 0 else 100) and last >= 20
            if not fits or (last < 100 and value >= 10):
                return None
            group, last = group + value, value
    return total + group
