"""Figures of one language in the notation of another."""

from __future__ import annotations

import pytest

from fenster.errors import ConfigError
from fenster.language import languages, load_language
from fenster.language.numbers import NumberConverter

GERMAN = NumberConverter(load_language("en"), load_language("de"))
ENGLISH = NumberConverter(load_language("de"), load_language("en"))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("216,196 euros", ["216.196"]),
        ("5.1.", ["5.1"]),
        ("5.1", ["5,1"]),
        ("Python 3.12 was new, Windows 8.1 needs it.", ["3.12", "8.1"]),
        ("Windows 8.1 needs 1.5 GB.", ["8.1", "1,5"]),
        ("Add 1.5 cups.", ["1,5"]),
        ("Sections 4.1, 4.2 and 4.3 or tables 3.1 to 3.4", ["4.1", "4.2", "4.3", "3.1", "3.4"]),
        ("from 1.5 to 2.5 points", ["1,5", "2,5"]),
        ("Heparin 1.250 mg, Tom 1.5 litres, Germany 4.5 percent, Rome 12.345 km", ["1,250", "1,5", "4,5", "12,345"]),
        ("Give 0.5-1 mg, then 1.5–2.5 mg.", ["0,5", "1,5", "2,5"]),
        ("1.5 TB", ["1,5"]),
        ("35.5 thousand dollars, $35 thousand, 1.5 thousand", ["35.500", "35.000 $", "1500"]),
        ("5.5M users and 1.2B views", ["5,5 Millionen", "1,2 Milliarden"]),
        ("2.5 Million", ["2,5"]),
        ("1.1 A short history", ["1.1"]),
        ("2.5 Time zones", ["2.5"]),
        ("2.5 V-shaped recovery", ["2.5"]),
        ("Section 1.1 Time, clause 7.3 time, Python 3.12 second arguments", ["1.1", "7.3", "3.12"]),
        ("It needs .NET 5.0 or Max 8.5, see Unit 2.1.", ["5.0", "8.5", "2.1"]),
        ("Total 12.50", ["12,50"]),
        ("Temperature 36.6 °C, Latitude 40.7128° N", ["36,6", "40,7128"]),
        ("See §5.2, eq. 3.4.", ["5.2", "3.4"]),
        ("from 31/12/2023 to 01/01/2024", ["31.12.2023", "01.01.2024"]),
        ("1.5 and 1,234.5 and -2.5", ["1,5", "1.234,5", "-2,5"]),
        ("€ 1.200,50 or €1,200.50", ["1.200,50 €", "1.200,50 €"]),
        ("$50, 50$ and £3.20", ["50 $", "50 $", "3,20 £"]),
        ("50% of 3.5 %", ["50 %", "3,5 %"]),
        (
            "$5.5 million, €1 billion and USD 3 trillion",
            ["5,5 Millionen Dollar", "1 Milliarde Euro", "3 Billionen USD"],
        ),
        ("a $2 million-dollar house", []),  # the sign belongs to the rest, and is left to the model
        ("$5k, $1.25M and £300K", ["5.000 $", "1,25 Millionen Dollar", "300.000 £"]),
        ("A$1,200.50, US$ 5 or HK$3 million", ["1.200,50 A$", "5 US$", "3 Millionen HK$"]),
        ("5 feet 9 inches, 150 lbs, 1 gallon, 1,200 rpm", ["5 Fuß", "9 Zoll", "150 lbs", "1 Gallone", "1.200 U/min"]),
        ("2 tbsp of sugar, Two pints of the beer", ["2 Esslöffel", "Zwei Pints"]),
        ("a 6-inch pipe in a 200-acre park, a six-inch nail", ["6-Zoll", "200-Acre", "sechs-Zoll"]),
        ("two tablespoons, six feet tall, on two feet", ["zwei Esslöffel", "sechs Fuß"]),
        ("Twenty feet deep, one hundred and two feet, forty-acre, one foot", ["20 Fuß", "102 Fuß", "40-Acre"]),
        ("two feet tall, four feet of a dog, a billion gallons of oil", ["zwei Fuß", "1 Milliarde Gallonen"]),
        ("2.5 square miles or 5–10 feet", ["2,5 Quadratmeilen", "5–10 Fuß"]),
        ("Six hundred and forty-one of two hundred and fifty thousand", ["641", "250.000"]),
        ("a hundred and two, two hundred and fifty million", ["102", "250 Millionen"]),
        ("three hundred, one hundred and two hundred, one or two thousand, a million", []),
        ("in nineteen forty-five, nineteen forty-five of them", ["1945"]),
        ("at ten to four, ten to four against, it is five to six hours", ["zehn vor vier"]),
        ("in 44:05, in 12:05, at 12:05", ["44:05", "12:05", "12:05"]),
        ("a map of 1:25,000 or 1:100", ["1:25.000"]),
        ("three yard sales, 10 foot soldiers, 3 foot-long dogs, four feet off", []),
        ("6 ft. tall, 2 tbsp. of sugar, 3 fl. oz. of milk", ["6 Fuß", "2 Esslöffel", "3 Flüssigunzen"]),
        ("a $2-million-dollar house, $5M-$10M", ["5 Millionen Dollar", "10 Millionen Dollar"]),
        ("by ten thirty, until twelve thirty, of twenty thirty came", []),
        ("between a thousand and fifteen hundred, ſix hundred and forty men", []),
        ("Start time 9:30", ["9:30"]),
        ("BMI 27.3 (95% CI 3.1–3.9), Ubuntu 22.04 LTS", ["27,3", "95 %", "3,1", "3,9", "22.04"]),
        ("between 2 and 3 p.m. or from 11 to 1 pm", ["14", "15", "11", "13"]),
        ("9:30-10:30 am, 10 until 12 am", ["9:30-10:30", "22", "0"]),
        ("at half past seven; Half past twelve", ["halb acht", "Halb eins"]),
        ("half past his prime", []),
        ("at 9:30 pm, 10 a.m. or 12:15 am", ["21:30", "10", "0:15"]),
        ("at 16:45:10", ["16:45:10"]),
        ("We met at 9 p.m.", ["21"]),
        ("on 12/31/2024 or 3/4/2025 or 2024-01-05", ["31.12.2024", "3/4/2025", "2024-01-05"]),
        ("version 1.5 of Python 3.12", ["1.5", "3.12"]),
        ("12345678 in all", ["12345678"]),
        ("in 1999, at 5, page 12", []),
        ("the 21st, a 3-year-old, 24/7, 10.0.0.1", ["24/7"]),
        ("from 8 AM to 8 PM", ["8", "20"]),
        ("open 9am-5pm, 11–1 p.m. and 9-5 pm", ["9-17", "11–13", "9-17"]),
        ("1,000-2,000 people, 10%-15%, $10-$20,000", ["1.000", "2.000", "10 %", "15 %", "10 $", "20.000 $"]),
        (".5 percent for $.99", ["0,5", "0,99 $"]),
        ("1,050g, 2.5kg and 2.5GB", ["1.050", "2,5", "2,5"]),
        ("1.1 Introduction", ["1.1"]),
        ("Python 3.12 is new; so is iOS 17.2.", ["3.12", "17.2"]),
        ("In May 1.5 million people came.", ["1,5"]),
        ("About 296.31 points were sold.", ["296,31"]),
        ("Add 1.5 cups. Weigh 2.5 kg.", ["1,5", "2,5"]),
        ("They paid 20 CHF, or USD 1,000.00.", ["20 CHF", "USD 1.000,00"]),
        ("a loss of -$5.00", ["-5,00 $"]),
        ("on 31/12/2024", ["31.12.2024"]),
        ("1 1/2 cups, 1/4 teaspoon, 1/2 inch", ["1 1/2", "1/4 Teelöffel", "1/2 Zoll"]),
        ("3-5 people, every 4–6 hours, 10-15%, 1-2-3", ["3-5", "4–6", "10-15 %"]),
        ("$5–10 million, a €2.5-3bn deal", ["5–10 Millionen Dollar", "2,5-3 Milliarden Euro"]),
        ("£5m-£10m, €5-10, $5-10K", ["5 Millionen Pfund", "10 Millionen Pfund", "5-10 €", "5.000–10.000 $"]),
        ("1.2 bn people, 1.5k EUR, a 10k run", ["1,2 Milliarden", "1,5k", "10k"]),
        ("1e6 and 1.5e-3", ["1e6", "1.5e-3"]),
        ("Half past 7, half past 12", ["Halb acht", "halb eins"]),
        ("nothing", []),
    ],
)
def test_english_figures_in_german(text: str, written: list[str]) -> None:
    assert [forms[0] for _, forms, _ in GERMAN.find(text)] == written


def test_durations_are_no_times_of_day() -> None:
    kinds = {
        text[span.start : span.end]: span.kind
        for text in ("in 44:05", "at 9:30", "at ten to six", "ran 3:59.4")
        for span, _, _ in GERMAN.find(text)
    }
    assert {span.kind for span, _, _ in GERMAN.find("We left at 9:30 p.m.")} == {"time"}
    for text in ("The score was 21:19.", "They lost 14:15.", "The ratio was 12:13.", "Romans 8:28 says so."):
        assert {span.kind for span, _, _ in GERMAN.find(text)} == {"number"}, text
    for text in ("They won at 21:19.", "We won. The train leaves 9:30.", "Monday 9:30"):
        assert {span.kind for span, _, _ in GERMAN.find(text)} == {"time"}, text
    assert kinds == {"44:05": "number", "9:30": "time", "ten to six": "time", "3:59.4": "number"}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("216.196 Euro und 1,5", ["216,196", "1.5"]),
        ("50 % für 3,20 €", ["50%", "€3.20"]),
        ("um 21:30", ["21:30"]),
        ("halb acht, halb eins", ["half past seven", "half past twelve"]),
    ],
)
def test_german_figures_in_english(text: str, written: list[str]) -> None:
    assert [forms[0] for _, forms, _ in ENGLISH.find(text)] == written


def test_a_sentence_keeps_its_stop() -> None:
    text = "We met at 9 p.m."
    ((span, _, _),) = GERMAN.find(text)
    assert text[span.end :] == "."


def test_digits_stay() -> None:
    for text in ("1,234,567.89", "€ 12.50", "0.5%", "-7.25", "99,999"):
        for _, forms, _ in GERMAN.find(text):
            assert [c for c in forms[0] if c.isdigit()] == [c for c in text if c.isdigit()]


def test_languages_are_files() -> None:
    assert {"en", "de"} <= set(languages())
    with pytest.raises(ConfigError, match="no conventions for the language 'xx'"):
        load_language("xx")


@pytest.mark.parametrize(
    ("source", "target", "left"),
    [
        ("on 12/31/2024", "am 31.12.2024", False),
        ("at 9:30 pm", "um 21.30 Uhr", False),
        ("2 dogs", "zwei Hunde", False),
        ("a 2nd chance", "eine zweite Chance", False),
        ("5 dogs", "7 Hunde", True),
        ("$50", "60 $", True),
    ],
)
def test_numbers_in_another_notation_are_not_missing(source: str, target: str, left: bool) -> None:
    rest, _ = GERMAN.without_equals(source, target)
    assert any(character.isdigit() for character in rest) == left


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("Caesar died in 44 BC.", ["44 v. Chr."]),
        ("from 1,200 B.C. to 70 CE", ["1.200 v. Chr.", "70 n. Chr."]),
        ("Rome fell in 476 A.D.", ["476 n. Chr."]),
        ("The product has 2 CE marks.", []),
        ("We run two AD servers and 5 AD campaigns.", []),
        ("4AD is a label, 2.5 BC is nothing.", []),
    ],
)
def test_eras(text: str, forms: list[str]) -> None:
    converter = NumberConverter(load_language("en"), load_language("de"))
    assert [one.forms[0] for one in converter.find(text) if "Chr" in one.forms[0]] == forms
