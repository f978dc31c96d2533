"""A document on its way through sequential decoding, side by side with others."""

from __future__ import annotations

from dataclasses import dataclass, field

from fenster.decode.result import Translated, Translation
from fenster.decode.sequential import Reading
from fenster.tokenize import Ids


@dataclass(frozen=True)
class Lane:
    number: int
    """Of the document among those that are translated."""
    id: str
    texts: list[str]
    """All segments; those without text are not translated."""
    real: list[str]
    reading: Reading
    _found: list[Translated] = field(default_factory=list)

    @property
    def done(self) -> bool:
        return self.reading.next == len(self.real)

    @property
    def text(self) -> str:
        """Of the sentence that comes next."""
        return self.real[self.reading.next]

    def add(self, translated: Translated, ids: Ids) -> None:
        self._found.append(translated)
        self.reading.add(ids)

    @property
    def translation(self) -> Translation:
        ready = iter(self._found)
        return Translation(self.id, tuple(next(ready) if text else Translated("", "") for text in self.texts))
