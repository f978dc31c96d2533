"""A number of the source language's notation in the target language's: 1,200.5 is 1.200,5."""

from __future__ import annotations

import re

from fenster.language import NumberStyle

_GROUPED_FROM = 10_000  # years have no point
_RANGE = re.compile(r"(.*\d)([-–])(\d.*)")  # 5–10


class Notation:
    """The notations of one language pair."""

    def __init__(self, source: NumberStyle, target: NumberStyle) -> None:
        self.source, self.target = source, target

    def forms(self, written: str) -> list[str]:
        """The forms of a number, or of a range of numbers, in the target language."""
        if (both := _RANGE.fullmatch(written)) is not None:
            first, dash, second = both.groups()
            return [f"{a}{dash}{b}" for a, b in zip(self.forms(first), self.forms(second), strict=False)]
        source, target = self.source, self.target
        sign = written[0] if written[0] in "-−+±" else ""
        digits = written[len(sign) :]
        if _is_foreign(digits, source):
            source = NumberStyle.model_validate(
                {**source.model_dump(), "group": source.decimal, "decimal": source.group}
            )
        whole, _, fraction = digits.partition(source.decimal)
        whole = whole or "0"  # .5
        plain = whole.replace(source.group, "")
        end = f"{target.decimal}{fraction}" if fraction else ""
        forms = []
        if source.group in whole:
            thousands = grouped(plain)
            forms = [sign + gap.join(thousands) + end for gap in (target.group, " ", "\u00a0", "\u202f", "")]
        else:
            forms = [sign + plain + end]
        if len(plain) > 4 and source.group not in whole:
            forms += [sign + gap.join(grouped(plain)) + end for gap in (target.group, " ")]
        return [*forms, written]

    def figures(self, value: int) -> str:
        """250.000, 250 Millionen."""
        powers = sorted(self.target.scale_words, reverse=True)
        power = next((power for power in powers if value % 10**power == 0), None)
        if power is None:
            return str(value) if value < _GROUPED_FROM else self.target.group.join(grouped(str(value)))
        return f"{value // 10**power} {self.target.scale_words[power][value != 10**power]}"

    def is_foreign(self, written: str) -> bool:
        """True for 1.200,50 in a text of a language that writes 1,200.50."""
        return _is_foreign(written, self.source)


def _is_foreign(digits: str, style: NumberStyle) -> bool:
    return (
        style.decimal in digits and style.group in digits and digits.rindex(style.group) > digits.index(style.decimal)
    )


def grouped(digits: str) -> list[str]:
    """By thousands: 12345 is 12, 345."""
    first = len(digits) % 3 or 3
    return [digits[:first], *(digits[at : at + 3] for at in range(first, len(digits), 3))]
