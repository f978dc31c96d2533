"""Text to sentences, with rules for many languages (sentencex)."""

from __future__ import annotations

import re
from functools import cache

import sentencex

from fenster.data.text import normalise

_CONTINUED = re.compile(r"[a-z\d{%$]")  # after an abbreviation, the same sentence
_TAG = re.compile(r"<[^<>]*>")
_RUN = re.compile(r"([^\w\s.!?])\1{19,}")  # of quotation marks, say, over which sentencex takes quadratic time


def sentences(text: str, language: str = "en") -> list[str]:
    """The sentences of one line or paragraph, none of them empty; joined with spaces they are the text again."""
    text = normalise(text)
    joined: list[str] = []
    unfinished = _unfinished(language)
    for part in _segmented(text, language) if text else ():
        # Only where there is a space: ASP.NET is one word. A closing tag belongs to what it follows.
        together = joined and not (joined[-1][-1:].isspace() or part[:1].isspace())
        wordless = joined and not any(character.isalnum() for character in _TAG.sub("", part))
        abbreviated = joined and _CONTINUED.match(part.lstrip()) and unfinished.search(joined[-1].rstrip())
        if together or wordless or abbreviated:
            joined[-1] += part
        else:
            joined.append(part)
    return [sentence for sentence in map(normalise, joined) if sentence]


@cache
def _unfinished(language: str) -> re.Pattern[str]:
    """What ends with an abbreviation of a language, and so is no whole sentence."""
    from fenster.language import languages, load_language  # here, since `import fenster` need not wait for them
    from fenster.language.spans import any_of

    words = load_language(language).abbreviations if language in languages() else ()
    return re.compile(rf"(?<![\w.])(?:{any_of(words)})\.$", re.IGNORECASE)


def _segmented(text: str, language: str) -> list[str]:
    """As sentencex has it; long runs of one sign count as a word."""
    parts = list(sentencex.segment(language, _RUN.sub(lambda run: "x" * len(run.group()), text)))
    made, at = [], 0
    for part in parts:
        made.append(text[at : at + len(part)])
        at += len(part)
    return made if at == len(text) else list(sentencex.segment(language, text))
