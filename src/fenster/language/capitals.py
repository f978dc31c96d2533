"""TEXT IN CAPITALS: a model that has seen little of it reads it in small letters, and its translation is written in
capitals again."""

from __future__ import annotations

import re
from collections.abc import Callable

from fenster.language import Language

_WORD = re.compile(r"[^\W\d_]+")
_LONG = 3  # letters of a word that is rarely an acronym beside others,
_KNOWN = 4  # and of one that is rarely an acronym if it is an ordinary word
_FEWEST_WORDS = 2
_FEWEST_LETTERS = 8


def is_capitals(text: str, is_ordinary: Callable[[str], bool] = lambda word: False) -> bool:
    """True if a text has several words and no small letter. A short text (WARNING, NO SMOKING) has to consist of
    ordinary words, since it may be an acronym; `is_ordinary` is asked about words in small letters."""
    letters = [character for character in text if character.isalpha()]
    if not letters or not all(character.isupper() for character in letters):
        return False
    words = _WORD.findall(text)
    if len(letters) >= _FEWEST_LETTERS and sum(len(word) >= _LONG for word in words) >= _FEWEST_WORDS:
        return True
    # A single letter or two: CHAPTER I, PART IV.
    return any(len(word) >= _KNOWN for word in words) and all(
        len(word) < _LONG or is_ordinary(word.lower()) for word in words
    )


def small(text: str, language: Language | None, starts: bool) -> str:
    """A text in capitals as a sentence is written; if it `starts` the sentence, with a capital."""
    lowered = text.lower()
    for word in () if language is None else language.capital_words:
        lowered = re.sub(rf"\b{re.escape(word.lower())}\b", word, lowered)
    first = next((at for at, character in enumerate(lowered) if character.isalpha()), None)
    if not starts or first is None:
        return lowered
    return lowered[:first] + lowered[first].upper() + lowered[first + 1 :]


def capitals(text: str) -> str:
    """A text in capitals, character by character: ß is ẞ."""
    return "".join("ẞ" if character == "ß" else _capital(character) for character in text)


def _capital(character: str) -> str:
    upper = character.upper()
    return upper if len(upper) == 1 else character


def begun_as(text: str, source: str) -> str:
    """A translation with a capital if its source begins with one; words that are copied keep what they have."""
    word = text.split(" ", 1)[0].rstrip(",;:.!?")
    copied = word in re.findall(r"[\w/.-]+", source) or not word.isalpha() or not word.islower()
    if not source[:1].isupper() or not text[:1].islower() or copied:
        return text
    return text[0].upper() + text[1:]
