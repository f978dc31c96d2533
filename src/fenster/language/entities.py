"""Characters that a text spells as entities (&#39; &amp; &rsquo;), as in catalogues of web pages: they are read as
what they mean, and spelt so again in the translation."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import NamedTuple

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_TAG = re.compile(r"(<[^<>]*>)")


class Decoded(NamedTuple):
    text: str
    spelling: Mapping[str, str]
    """How characters are spelt, those that the text has in no other way."""
    places: tuple[tuple[int, int], ...]
    """Of the entities: where each ends in the original, and how much shorter the text is by then."""

    def moved(self, at: int) -> int:
        """A place of the original in the text."""
        return at - max((by for end, by in self.places if end <= at), default=0)


def decoded(text: str) -> Decoded:
    """`text` without entities, as far as they are words and punctuation: tags, < > and spaces stay as they are."""
    bare = _ENTITY.sub("", _TAG.sub("", text))
    tags = [match.span() for match in _TAG.finditer(text)]
    spelling: dict[str, str] = {}
    made, places, at, shorter = "", list[tuple[int, int]](), 0, 0
    for match in _ENTITY.finditer(text):
        character = html.unescape(match.group())
        is_read = len(character) == 1 and character.isprintable() and character not in "<> \ufffd"
        in_tag = any(start < match.start() < end for start, end in tags)
        if not is_read or in_tag or (character == "&" and "&" in bare):
            continue
        made += text[at : match.start()] + character
        at = match.end()
        shorter += len(match.group()) - 1
        places.append((at, shorter))
        if character not in bare:
            spelling[character] = match.group()
    return Decoded(made + text[at:], spelling, tuple(places))


def encoded(text: str, spelling: Mapping[str, str]) -> str:
    """`text` with some characters spelt as entities, except in tags."""
    if not spelling:
        return text
    wanted = re.compile("|".join("&(?!#?\\w+;)" if one == "&" else re.escape(one) for one in spelling))
    pieces = _TAG.split(text)
    pieces[::2] = [wanted.sub(lambda match: spelling[match.group()], piece) for piece in pieces[::2]]
    return "".join(pieces)
