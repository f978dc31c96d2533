"""Plain text to sentences, behind one function."""

from __future__ import annotations

import sentencex

from fenster.data.text import normalise


def sentences(text: str, language: str = "en") -> list[str]:
    """The sentences of one line or paragraph, none of them empty; joined with spaces they are the text again."""
    text = normalise(text)
    split = [normalise(sentence) for sentence in sentencex.segment(language, text)] if text else []
    return [sentence for sentence in split if sentence]
