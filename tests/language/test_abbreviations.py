"""Weekdays and months in full."""

from __future__ import annotations

import pytest

import fenster
from fenster.language import load_language
from fenster.language.abbreviations import Abbreviations

ENGLISH = Abbreviations(load_language("en"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Office hours: Mon-Fri, 9am to 5pm.", "Office hours: Monday to Friday, 9am to 5pm."),
        ("Open Mon, Wed and Fri; closed Tue/Thu.", "Open Monday, Wednesday and Friday; closed Tuesday/Thursday."),
        ("It is on Tue, Jan 5.", "It is on Tuesday, January 5."),
        ("Mon., Jan. 5, 2024", "Monday, January 5, 2024"),
        ("The deadline is Sept. 30 or 15 Oct.", "The deadline is September 30 or 15 October."),
        (
            "I left on Fri. and slept. He came on Mon. We talked.",
            "I left on Friday and slept. He came on Monday. We talked.",
        ),
        ("Jan-Mar 2024", "January to March 2024"),
        ("Jan \0", "January \0"),
        ("Jan. and Feb. were cold.", "January and February were cold."),
        ("Mar–May, Mon-Friday", "March to May, Monday to Friday"),
        ("Sun May 5, Mon Dec 3", "Sunday May 5, Monday December 3"),
        ("every Sat morning", "every Saturday morning"),
        ("Tue", "Tuesday"),
        ("Dec.", "December"),
    ],
)
def test_abbreviations_are_written_out(text: str, expected: str) -> None:
    assert ENGLISH.expanded(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "The Sun is hot.",
        "Jan met Mon and asked Fri.",
        "In 2010 Jan moved to Berlin.",
        "The paintings of Jan Vermeer are famous.",
        "the people of Mar del Plata",
        "At 10 Jan came in. On the 5th Jan went home.",
        "20 Mar-a-Lago members",
        "Oracle changed a lot after Sun was bought.",
        "on Sun Microsystems' servers",
        "on Sun-dried tomatoes, by Sun.com, on Sun's",
        "every Sun King",
        "from Sun to Earth",
        "Jan and Mar are friends",
        "The Sun, 8 planets. The Sun 5 times.",
        "with Jan 2 hours ago",
        "Ask Jan \1",
        "Jan",
        "Sun",
        "Sat down, he wept.",
        "Sun-dried tomatoes and a sat-nav",
        "Minh Thu said so.",
        "Monday, May 5",
        "",
    ],
)
def test_other_words_stay(text: str) -> None:
    assert ENGLISH.expanded(text) == text


def test_languages_without_such_words() -> None:
    assert Abbreviations(load_language("de")).expanded("Mon-Fri, Jan 5") == "Mon-Fri, Jan 5"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("We are closed Tue and Thu.", ["Dienstag", "Donnerstag"]),
        ("The deadline is Oct. 15.", ["15. Oktober"]),
        ("Caesar died in 44 BC.", ["44 v. Chr."]),
        ("Rome fell in 476 A.D.", ["476 n. Chr."]),
    ],
)
def test_the_bundled_model_reads_them(source: str, words: list[str]) -> None:
    text = fenster.load(beam=2).translate(source).texts[0]
    assert all(word in text for word in words) and ".." not in text
