"""Taggers: the part of speech of each token. A new one is one new file and one line in TAGGERS.

Contract: `tag(sentences)` returns each sentence's tokens with fine-grained tags, Penn's for English and STTS's for
German, as the word lists in `rules` name them. Punctuation and English clitics are tokens of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from fenster.evaluate.tagging import hanta, lists, spacy
from fenster.evaluate.tagging.tokens import Tagged
from fenster.registry import Registry


class Tagger(Protocol):
    name: str
    """With everything that results depend on, such as versions."""

    def tag(self, sentences: Sequence[str]) -> list[Tagged]: ...


TAGGERS: Registry[Callable[[str], Tagger]] = Registry(
    "tagger",
    {
        "hanta": hanta.HantaTagger,
        "lists": lists.ListTagger,
        "spacy": spacy.SpacyTagger,
    },
)
