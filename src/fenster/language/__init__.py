"""What depends on a language: how it writes numbers, times and dates, and how it addresses people. As data, in the
YAML files beside this module."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from fenster.config import Config, load
from fenster.errors import ConfigError, InputError

_FOLDER = Path(__file__).parent
Register = Literal["formal", "informal"]
REGISTERS: tuple[Register, ...] = ("formal", "informal")


class NumberStyle(Config):
    """How figures are written."""

    group: str
    """Between thousands: 216,196."""
    decimal: str
    """Before the fraction: 1.5."""
    percent: str
    """What is written after a number that is a percentage, its space included."""
    percent_words: tuple[str, ...] = ()
    currency: Literal["before", "after"]
    """Where a currency's sign stands: €50 or 50 €."""
    currency_words: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Words and codes that may stand for a currency's sign."""
    clock: Literal[12, 24]
    """12: with am and pm."""
    date: Literal["month-first", "day-first"]
    date_separator: str
    scales: dict[str, int] = Field(default_factory=dict)
    """Words that multiply a number, and the power of ten that they stand for: million is 6."""
    scale_words: dict[int, tuple[str, str]] = Field(default_factory=dict)
    """Powers of ten in words, of one and of several: $1.5 million is 1,5 Millionen Dollar. A currency's sign before a
    number with another scale is left to the model."""
    time_ranges: tuple[str, ...] = ()
    """What may stand between two times of which only the second says am or pm: 2 to 3 pm."""
    hours: tuple[str, ...] = ()
    """One to twelve o'clock in words."""
    half_past: str = ""
    """Half an hour after an hour, or before the next: half past {hour}, halb {next}."""
    minutes_to: str = ""
    """Minutes before an hour, in words: {minutes} to {hour}."""
    minutes: dict[int, str] = Field(default_factory=dict)
    """The minutes that are said so."""
    clock_words: tuple[str, ...] = ()
    """Words before such a time; without them ten to four may be a score."""
    clock_after: str = ""
    """As a regular expression, what follows such a time; otherwise it may be a number: at ten to twenty degrees."""
    duration_words: tuple[str, ...] = ()
    """Words before figures such as 12:05 that are no time of day."""
    time_words: tuple[str, ...] = ()
    """Words before a time of day."""
    score_words: tuple[str, ...] = ()
    """Words of a sentence in which 21:19 is a score or a ratio, unless one of the time words stands before it."""
    books: tuple[str, ...] = ()
    """Words before chapter and verse: Romans 8:28."""
    hour_word: str = ""
    """What follows an hour in figures: 8 Uhr, but not halb acht Uhr."""
    labels: tuple[str, ...] = ()
    """Words before a number that is a name and no quantity: version 1.5, section 2.3."""
    predicates: tuple[str, ...] = ()
    """Verbs after a name with a number: Python 3.12 was released."""
    quantity_names: tuple[str, ...] = ()
    """Words with capitals before a number that is a quantity after all: BMI 27.3."""
    quantity_words: tuple[str, ...] = ()
    """The same, in small letters, of words that a line may begin with: Total 12.50."""
    counted_words: tuple[str, ...] = ()
    """Words behind a number that is a quantity whatever stands before it: Tom 1.5 litres."""
    months: tuple[str, ...] = ()
    units: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Units of measure by name, as a source language: how they are written behind a number."""
    unit_words: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The same as a target language: of one, of several, and before a hyphen, if that differs. A unit that is missing
    here stays as it is."""
    eras: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """As a source language, how they are written behind a year."""
    era_words: dict[str, str] = Field(default_factory=dict)
    """The same as a target language."""
    era_follows: str = "(?!)"
    """As a regular expression, what follows an era that is written without stops; 2 CE marks are something else."""
    unit_link: str = "(?!)"
    """As a regular expression, what follows a unit and is not translated: 2 pints of beer are 2 Pints Bier."""
    singular_units: tuple[str, ...] = ()
    """Units whose plural has another form: the singular after a number is no measure, as in ten foot soldiers."""
    no_measure: str = "(?!)"
    """As a regular expression, a number in words and a unit that are probably not a measure: two feet."""
    cardinals: dict[str, int] = Field(default_factory=dict)
    """Words for numbers, hundred and thousand included."""
    cardinal_link: str = ""
    """What may stand between them: and."""
    cardinal_one: str = ""
    """What may stand for one: a hundred."""
    year_words: tuple[str, ...] = ()
    """Words before a year that is said as two numbers: in nineteen forty-five."""
    suffixes: dict[str, int] = Field(default_factory=dict)
    """Powers of ten that follow an amount without a space: $5M."""
    number_words: tuple[str, ...] = ()
    """Words for 0, 1, 2 …, as regular expressions: a translation may have them instead of figures."""


class AddressForms(Config):
    """Regular expressions for forms of address, in the order in which they are tried."""

    formal: str
    """Only where they cannot be anything else."""
    formal_words: str
    """The same wherever they stand."""
    informal: str
    second_person: str = ""
    """As a source language: words that address somebody."""
    third_person: str = ""
    """As a source language: words whose translation looks like a form of address at the start of a sentence."""


class Inflection(Config):
    """How words change, for terms of a glossary; rules may make forms that do not exist."""

    endings: tuple[str, ...] = ()
    """What may follow a word."""
    swaps: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """What may replace the end of a word: study, studies."""
    vowels: dict[str, str] = Field(default_factory=dict)
    """What the last vowel of a word may become: Haus, Häuser."""


class Language(Config):
    name: str
    locale: str
    """As programs name it: de-DE."""
    common_words: tuple[str, ...] = ()
    """Words that nearly every longer sentence has one of, and that are rare in other languages."""
    leading_words: tuple[str, ...] = ()
    """Words that belong to what follows them: a line does not end with one."""
    abbreviations: tuple[str, ...] = ()
    """In small letters, those whose stop does not end a sentence before a small letter, a figure or what a program
    fills in: approx. 5 litres."""
    foreign_letters: str | None = None
    """Letters beyond ASCII that are usual in texts of this language. Words with any other letter or symbol are
    copied, as names are; without this setting, only those with characters that a model has no piece for."""
    rewrites: dict[str, str] = Field(default_factory=dict)
    """As a source language: regular expressions of what a model easily misreads, and what it reads instead."""
    capitalises_nouns: bool = False
    """Every noun has a capital, so that a capital does not show a name."""
    translated_endings: tuple[str, ...] = ()
    """Of capitalised words that are translated even if they are rare: Lydians."""
    possessives: tuple[str, ...] = ()
    """What follows a name to show an owner, as a source language: Anna's."""
    genitive: tuple[str, str] | None = None
    """The same as a target language, and after a hissing sound: Annas, Hans'."""
    capital_words: tuple[str, ...] = ()
    """Words that are always written with a capital: I."""
    first_names: tuple[str, ...] = ()
    """As a source language: names that make a surname of the capitalised word after them (Susan Wood)."""
    first_names_and_words: tuple[str, ...] = ()
    """Those of them that show no name in a text in capitals: BILL PAYMENT."""
    titles: tuple[str, ...] = ()
    """As a source language: words before a surname, which is not translated (Ms. Young),"""
    offices: tuple[str, ...] = ()
    """unless it is one of these (Mr President)."""
    no_surname_after: tuple[str, ...] = ()
    """Words before a first name that is translated: Pope John Paul."""
    acronyms: tuple[str, ...] = ()
    """Words in capitals that are acronyms, though there are such words: AIDS."""
    weekdays: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """As a source language: their abbreviations."""
    weekday_words: tuple[str, ...] = ()
    """Words before a weekday; without them, or others beside it, Sun may be the sun."""
    parts_of_day: tuple[str, ...] = ()
    """Words after a weekday."""
    month_abbreviations: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    short_months: tuple[str, ...] = ()
    """Months that are not abbreviated."""
    abbreviated_names: tuple[str, ...] = ()
    """Abbreviations that are words or names as well."""
    no_date_words: tuple[str, ...] = ()
    """Words after a number that is no day of a month: Jan 2 hours ago."""
    list_words: tuple[str, ...] = ()
    """What may stand between two weekdays or months."""
    range_word: str = ""
    """What a dash between them means."""
    quotes: tuple[str, str]
    """Opening and closing quotation marks."""
    numbers: NumberStyle
    address: AddressForms | None = None
    inflection: Inflection = Inflection()


def checked_register(name: object, *, path: Path | None = None, line: int | None = None) -> str:
    """The register that somebody asked for (formal, informal, or auto), or nothing if it was left open. An error with
    the place where it was asked for if there is no such register."""
    if name in (None, "", "auto", *REGISTERS):
        return str(name or "")
    raise InputError(f"unknown register {name!r}", path=path, line=line, expected=f"auto, {', '.join(REGISTERS)}")


@cache
def load_language(code: str) -> Language:
    """The conventions of a language by its code (en)."""
    path = _FOLDER / f"{code}.yaml"
    if not path.is_file():
        raise ConfigError(
            f"no conventions for the language {code!r}",
            expected=", ".join(languages()),
            fix="add a file like those in fenster/language",
        )
    return load(path, Language)


def languages() -> list[str]:
    """Codes of the languages with conventions."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def locale(code: str) -> str:
    """The usual locale of a language, or its code if its conventions are not known."""
    return load_language(code).locale if code in languages() else code
