"""What comes out: translations parallel to what went in."""

from __future__ import annotations

from dataclasses import dataclass

from fenster.document import Document


@dataclass(frozen=True)
class Translated:
    """The translation of one segment."""

    source: str
    text: str
    ids: tuple[int, ...] = ()
    """As the model spelt it, which need not be how the tokenizer would."""
    score: float = 0.0
    """Log-probability a token; of the whole part in full-segment decoding."""
    capped: bool = False
    """Whether it reached the length limit and was ended by force."""
    alternatives: tuple[tuple[str, float], ...] = ()
    """Further hypotheses with their scores, best first (sequential and sentence decoding)."""
    seconds: float = 0.0
    """How long its search took; shared by all segments of the search."""


@dataclass(frozen=True)
class Translation:
    """A translated document: exactly one segment for each of the source's."""

    id: str
    segments: tuple[Translated, ...]
    misaligned: int = 0
    """Parts whose number of sentences was not the source's (full-segment decoding without forced counts)."""

    @property
    def texts(self) -> list[str]:
        return [segment.text for segment in self.segments]

    @property
    def document(self) -> Document:
        return Document.of(self.id, self.texts)
