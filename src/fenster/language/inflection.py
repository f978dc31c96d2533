"""Forms of a word or term, by rules that make too many rather than too few: what is matched against text, or offered
to a search that chooses among them, need not all exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, product

from fenster.language import Language

_MOST_FORMS = 200


def inflected(term: str, language: Language | None) -> list[str]:
    """The forms of a term, itself first. The last word has endings and changes of vowels, words before it only the
    endings of adjectives."""
    if language is None or not term[-1:].isalpha():
        return [term]
    *before, last = term.split(" ")
    choices = [[word, *_swapped(word, language)] if word.islower() else [word] for word in before]
    forms = (" ".join(words) for words in product(*choices, list(_noun_forms(last, language))))
    return list(dict.fromkeys([term, *islice(forms, _MOST_FORMS)]))


def stems(term: str, language: Language | None) -> list[str]:
    """What all forms of a single word begin with."""
    if language is None or " " in term:
        return [term]
    return [term, *_with_vowels(term, language)]


def _noun_forms(word: str, language: Language) -> Iterator[str]:
    rules = language.inflection
    for base in (word, *_with_vowels(word, language)):
        yield from (base + ending for ending in ("", *rules.endings))
    yield from _swapped(word, language)


def _swapped(word: str, language: Language) -> list[str]:
    """Forms with another ending instead of the word's own: study, studies."""
    return [
        word[: -len(ending)] + other
        for ending, others in language.inflection.swaps.items()
        if word.endswith(ending) and len(word) > len(ending) + 1
        for other in others
    ]


def _with_vowels(word: str, language: Language) -> list[str]:
    """The word with its last vowel changed, if the language does that: Haus, Häus(er)."""
    changes = language.inflection.vowels
    if not changes:
        return []
    vowels = "|".join(sorted(changes, key=len, reverse=True))
    matches = list(re.finditer(rf"(?<![aeiou])(?:{vowels})(?![aeiou])", word))
    if not matches:
        return []
    start, end = matches[-1].span()
    return [word[:start] + changes[word[start:end]] + word[end:]]
