"""No tagger at all: every token counts as what the word lists take it for.

The listed forms are nearly always pronouns, so this changes little; it works for any language.
"""

from __future__ import annotations

from collections.abc import Sequence

from fenster.evaluate.tagging.tokens import Tagged, words


class ListTagger:
    name = "lists (no part-of-speech filter)"

    def __init__(self, language: str) -> None:
        pass  # any

    def tag(self, sentences: Sequence[str]) -> list[Tagged]:
        return [[(word, "") for word in words(sentence)] for sentence in sentences]
