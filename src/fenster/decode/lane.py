"""A document on its way through sequential decoding, side by side with others."""

from __future__ import annotations

from dataclasses import dataclass, field

from fenster.decode.frame import Frame
from fenster.decode.result import Translated, Translation
from fenster.decode.sequential import Reading
from fenster.tokenize import Ids


@dataclass(frozen=True)
class Lane:
    number: int
    """Of the document among those that are translated."""
    id: str
    frames: list[Frame]
    """All segments; those without a core are not translated."""
    real: list[Frame]
    reading: Reading
    _found: list[Translated] = field(default_factory=list)

    @property
    def done(self) -> bool:
        return self.reading.next == len(self.real)

    @property
    def frame(self) -> Frame:
        """Of the sentence that comes next."""
        return self.real[self.reading.next]

    def add(self, translated: Translated, ids: Ids) -> None:
        self._found.append(translated)
        self.reading.add(ids)

    @property
    def translation(self) -> Translation:
        ready = iter(self._found)
        return Translation(
            self.id,
            tuple(next(ready) if frame.core else Translated(frame.before, frame.before) for frame in self.frames),
        )
