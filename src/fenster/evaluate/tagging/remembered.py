"""A tagger that tags each sentence once, however many metrics ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fenster.evaluate.tagging.tokens import Tagged

if TYPE_CHECKING:
    from fenster.evaluate.tagging import Tagger


class RememberedTags:
    def __init__(self, tagger: Tagger) -> None:
        self._tagger, self.name = tagger, tagger.name
        self._tags: dict[str, Tagged] = {}

    def tag(self, sentences: Sequence[str]) -> list[Tagged]:
        new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._tags]
        self._tags.update(zip(new, self._tagger.tag(new), strict=True))
        return [self._tags[sentence] for sentence in sentences]
