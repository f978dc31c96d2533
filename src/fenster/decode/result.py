"""What comes out: translations parallel to what went in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Translated:
    """The translation of one segment."""

    source: str
    text: str
    ids: tuple[int, ...] = ()
    """As the model spelt it, which need not be how the tokenizer would; `<sep>` between pieces."""
    score: float = 0.0
    """Log-probability per token; of the whole block in full-segment decoding."""
    capped: bool = False
    """True if it reached the length limit and was ended by force."""
    misaligned: bool = False
    """True for the first sentence of a block that produced a different number of sentences than its source
    (full-segment decoding without forced counts)."""
    alternatives: tuple[tuple[str, float], ...] = ()
    """Further hypotheses with their scores, best first (sequential and sentence decoding)."""
    seconds: float = 0.0
    """Its share of the search's time."""
    warnings: tuple[str, ...] = ()
    """What looks wrong with it, by the names in `problems.PROBLEMS`."""
    missed_terms: tuple[str, ...] = ()
    """Terms of the glossary that it lacks: source → target."""


@dataclass(frozen=True)
class Translation:
    """A translated document: exactly one segment for each of the source's."""

    id: str
    segments: tuple[Translated, ...]

    @property
    def texts(self) -> list[str]:
        return [segment.text for segment in self.segments]

    @property
    def misaligned(self) -> int:
        """Blocks that produced a different number of sentences than their source."""
        return sum(segment.misaligned for segment in self.segments)
