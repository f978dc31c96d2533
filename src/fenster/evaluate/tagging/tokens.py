"""Words of a sentence, for taggers that do not bring a tokenizer."""

from __future__ import annotations

import re

Tagged = list[tuple[str, str]]
"""(token, tag); the tag is "" where a tagger accepts any."""

# Clitics ("it's", "don't", "geht's") apart, hyphenated words whole, each punctuation mark alone.
_TOKEN = re.compile(r"n['’]t\b|['’](?:s|re|ve|ll|d|m)\b|\w+?(?=n['’]t\b)|\w+(?:-\w+)*|[^\w\s]", re.IGNORECASE)


def words(sentence: str) -> list[str]:
    return _TOKEN.findall(sentence)
