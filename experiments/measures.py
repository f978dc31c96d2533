"""Units of measure and numbers in words: how often their translation is right if they are left to the model, and if
they are written by rule.

    python experiments/measures.py -o results/measures.json

A unit counts as right where the translation has one of its names, German or English; six sentences each, which do not
say what is measured. A number counts if the translation has it in figures, or in German words.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from script import parser, write

from fenster.decode.config import DecodeConfig
from fenster.decode.translator import Translator
from fenster.language import load_language

FRAMES = (
    "The measured value is 25 {}.",
    "It is more than 40 {}.",
    "They asked for 12 {} of it.",
    "We need 150 {}, not less.",
    "There were 8 {} left.",
    "The limit of 60 {} was exceeded.",
)
NUMBERS = ("They counted {} people.", "There are {} books in the house.", "He paid {} dollars.")
BELOW = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
TEENS = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
GERMAN = ("", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf")
GERMAN_TEENS = ("dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn")
GERMAN_TENS = ("", "", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")


def main() -> None:
    given = parser(__doc__).parse_args()
    draw = random.Random(1)
    ranges = {"101 to 999": (101, 999), "1,001 to 9,999": (1001, 9999)}
    numbers = {name: [draw.randint(*limits) for _ in range(40)] for name, limits in ranges.items()}
    made = []
    for rule in ("model", "convert"):
        translator = Translator.load(given.model, DecodeConfig(beam=given.beam, numbers=rule, batch_size=64))
        row: dict[str, object] = {"numbers": rule}
        units = dict(_units())
        right = {
            unit: sum(_has(text, names) for text in _translated(translator, FRAMES, unit))
            for unit, names in units.items()
        }
        row["units"] = right
        row["units_right"], row["units_tried"] = sum(right.values()), len(FRAMES) * len(right)
        for name, values in numbers.items():
            texts = [_translated(translator, (NUMBERS[n % 3],), _words(value))[0] for n, value in enumerate(values)]
            row[name] = sum(_is(text, value) for text, value in zip(texts, values, strict=True))
        made.append(row)
        print({key: value for key, value in row.items() if key != "units"}, flush=True)
    write({"rows": made, "numbers_of_each_range": 40}, given.output)


def _units() -> Iterator[tuple[str, tuple[str, ...]]]:
    """The last spelling of each unit, which is that of several, and what German may call it."""
    english, german = load_language("en").numbers, load_language("de").numbers
    for name, spellings in english.units.items():
        yield spellings[-1], (*german.unit_words.get(name, ()), *spellings)


def _translated(translator: Translator, frames: tuple[str, ...], filler: str) -> list[str]:
    return [one.texts[0] for one in translator.translate_all([[frame.format(filler)] for frame in frames])]


def _has(text: str, names: tuple[str, ...]) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) for name in names)


def _is(text: str, value: int) -> bool:
    figures, words = _german(value)[:2], _german(value)[2:]
    return _has(text, figures) or any(word in re.sub(r"[\s-]", "", text.lower()) for word in words)


def _words(value: int) -> str:
    thousands, rest = divmod(value, 1000)
    hundreds, small = divmod(rest, 100)
    parts = [f"{BELOW[thousands]} thousand"] * bool(thousands) + [f"{BELOW[hundreds]} hundred"] * bool(hundreds)
    last = (*BELOW, *TEENS)[small] if small < 20 else "-".join(filter(None, (TENS[small // 10], BELOW[small % 10])))
    return " and ".join(filter(None, (" ".join(parts), last)))


def _german(value: int) -> tuple[str, ...]:
    thousands, rest = divmod(value, 1000)
    hundreds, small = divmod(rest, 100)
    first = f"{GERMAN[thousands]}tausend" * bool(thousands) + f"{GERMAN[hundreds]}hundert" * bool(hundreds)
    if small < 20:
        last = (*GERMAN, *GERMAN_TEENS)[small]
    else:
        last = f"{GERMAN[small % 10]}und" * bool(small % 10) + GERMAN_TENS[small // 10]
    return str(value), f"{value:,}".replace(",", "."), first + last, f"{first}und{last}"


if __name__ == "__main__":
    main()
