"""Text in which every placeholder is one character, so that places in it can be counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from fenster.language.protected_text import Placeholder

_LETTERS = range(0x1400, 0x1680)  # letters of a script that no placeholder's text is in, since models do not know it
_PRIVATE = range(0xE000, 0xF8FF)


class StandIns:
    """A character for each placeholder: a letter if it stands for words, one for private use if for a mark."""

    def __init__(self, placeholders: Iterable[Placeholder], marks: Set[Placeholder], text: str) -> None:
        """The characters are none of `text`'s."""
        letters, private = (iter(one for one in map(chr, kind) if one not in text) for kind in (_LETTERS, _PRIVATE))
        self._characters = {one: next(private if one in marks else letters) for one in placeholders}
        self._placeholders = {character: one for one, character in self._characters.items()}
        self.words = frozenset(character for one, character in self._characters.items() if one not in marks)
        """Those of placeholders that stand for words."""

    def shown(self, parts: Iterable[str | Placeholder]) -> str:
        return "".join(part if isinstance(part, str) else self._characters[part] for part in parts)

    def parts(self, text: str) -> list[str | Placeholder]:
        """Text and placeholders in turn."""
        if not self._placeholders:
            return [text]
        pieces = re.split(f"([{''.join(self._placeholders)}])", text)
        return [self._placeholders.get(piece, piece) for piece in pieces]
