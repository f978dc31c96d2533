"""What becomes of a segment: parts that are copied, and pieces that the model translates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fenster.data.tokenizer import Ids
from fenster.decode.glossary import Glossary, GlossaryTerm
from fenster.decode.markup import Enclosed
from fenster.language import Register
from fenster.language.entities import encoded
from fenster.language.names import is_copied
from fenster.language.protected_text import ProtectedText


@dataclass(frozen=True)
class Piece:
    """Text that the model translates as one sentence."""

    text: ProtectedText
    source: Ids
    """As the model reads it, the symbol for the register first."""
    register: Register | None = None
    """How it should address people."""
    enclosed: tuple[Enclosed, ...] = ()
    """Inline markup around some of its words, outer pairs first."""
    terms: tuple[GlossaryTerm, ...] = ()
    """Of the glossary, those that the text has."""
    glossary: Glossary | None = None
    figures: tuple[tuple[str, str], ...] = ()
    """Figures that are not placeholders, and how the target language writes them."""
    names: tuple[str, ...] = ()
    """Words that the model does not know, and that should come out as they are."""
    is_capitals: bool = False
    """True if the text is in capitals: the model reads small letters, and its translation gets capitals."""

    def missing_terms(self, translation: str) -> list[GlossaryTerm]:
        """The terms that a translation lacks."""
        return [term for term in self.terms if not term.is_in(translation)]

    def missing_names(self, translation: str) -> list[str]:
        """The names that a translation lacks."""
        return [name for name in self.names if not is_copied(name, translation)]

    def with_figures(self, translation: str) -> str:
        """A translation in which figures that the model copied are written as in the target language."""
        for ours, theirs in self.figures:
            copied = re.compile(rf"(?<![\w.,]){re.escape(ours)}(?!\w)(?![.,]\d)")
            matches = [match.span() for match in copied.finditer(translation)]
            if theirs not in copied.sub("", translation) and len(matches) == 1:
                start, end = matches[0]
                translation = translation[:start] + theirs + translation[end:]
        return translation


@dataclass(frozen=True)
class SegmentPlan:
    source: str
    """The segment, its white space normalised."""
    parts: tuple[str | Piece, ...]
    """What is copied, and what is translated, in order."""
    warnings: tuple[str, ...] = ()
    """What looks wrong before it is translated."""
    spelling: Mapping[str, str] = field(default_factory=dict)
    """Characters that the segment spells as entities, and how."""

    @property
    def pieces(self) -> list[Piece]:
        return [part for part in self.parts if isinstance(part, Piece)]

    @property
    def is_copied(self) -> bool:
        return not self.pieces

    def joined(self, translations: Sequence[str]) -> str:
        """The translated segment."""
        waiting = iter(translations)
        return encoded(
            "".join(part if isinstance(part, str) else next(waiting) for part in self.parts), self.spelling
        )
