"""Names in a translation: whether it has one, how it spells it, and its genitive."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from fenster.language import Language

_WORD = re.compile(r"(?<!\w)[^\W\d_]+(?!\w)")
_LONG = 7  # letters
_SHORTEST = 5  # letters of a name that is looked for in another spelling
_SOUNDS = [{"c", "k"}, {"c", "z"}, {"s", "z"}, {"y", "j"}, {"i", "j"}, {"v", "w"}, {"f", "v"}, {"o", "ö"}, {"u", "ü"}]
_SIMILAR_SHORT = 0.8  # of names with fewer than _LONG letters
_SIMILAR = 0.75  # Kardashian and Kardaschian have 0.95, Maryland and Marias 0.57
_HISSING = frozenset("sßxz")


def is_copied(name: str, target: str) -> bool:
    """True if a translation has a name, perhaps with an ending or as the first part of a compound."""
    at = target.find(name)
    while at > 0 and (target[at - 1].isalnum() or target[at - 1] == "_"):
        at = target.find(name, at + 1)
    return at >= 0


def with_genitives(names: Sequence[str], source: Language, target: Language) -> dict[str, str]:
    """Names as a source writes them, and as the translation should."""
    forms = {name: name for name in names}
    if target.genitive is not None:
        plain, hissing = target.genitive
        for name in names:
            written = name + (hissing if name[-1].lower() in _HISSING else plain)
            forms |= {name + possessive: written for possessive in source.possessives}
    return forms


def respelled(names: Sequence[str], source: str, target: str) -> str:
    """A translation with names as the source spells them, where one has another spelling: Kardaschian."""
    known = set(_WORD.findall(source))
    for name in names:
        strange = [word for word in dict.fromkeys(_WORD.findall(target)) if word not in known and _alike(name, word)]
        similar = max(strange, key=lambda word: _similarity(name, word), default="")
        if similar:
            ending = similar[-1] == "s" and _similarity(name, similar[:-1]) > _similarity(name, similar)
            wrong = rf"(?<!\w){re.escape(similar)}(?!\w)"
            target = re.sub(wrong, name + "s" * ending, target, count=max(1, source.count(name)))
    return target


def _alike(name: str, word: str) -> bool:
    """True if a word may be a name in another spelling."""
    if min(len(name), len(word)) < _SHORTEST:
        return False
    if name.lower() == word.lower():
        return True
    first = {name[0].lower(), word[0].lower()}
    same_case = word[0].isupper() and name.isupper() == word.isupper()
    limit = _SIMILAR if len(name) >= _LONG else _SIMILAR_SHORT
    return same_case and (len(first) == 1 or first in _SOUNDS) and _similarity(name, word) >= limit


def _similarity(one: str, other: str) -> float:
    return SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()
