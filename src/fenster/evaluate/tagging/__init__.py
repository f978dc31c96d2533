"""Taggers: which tokens of a sentence are what part of speech. A new one is one new file and one line in TAGGERS.

Contract: `tag(sentences)` gives each sentence's tokens with fine-grained tags, Penn's for English and STTS's for
German, as the word lists in `rules` name them. Punctuation and English clitics are tokens of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from fenster.errors import ConfigError
from fenster.evaluate.tagging import hanta, lists, spacy
from fenster.evaluate.tagging.tokens import Tagged


class Tagger(Protocol):
    name: str
    """With everything that results depend on, such as versions."""

    def tag(self, sentences: Sequence[str]) -> list[Tagged]: ...


TAGGERS: dict[str, Callable[[str], Tagger]] = {
    "hanta": hanta.HantaTagger,
    "lists": lists.ListTagger,
    "spacy": spacy.SpacyTagger,
}


def make_tagger(name: str, language: str) -> Tagger:
    if name not in TAGGERS:
        raise ConfigError(f"no tagger is called {name!r}", expected=", ".join(TAGGERS))
    return TAGGERS[name](language)
