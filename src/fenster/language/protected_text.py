"""A sentence whose protected spans are placeholders: what the model reads, and how its translation is written out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, NamedTuple

from fenster.language.spans import any_of

PlaceholderKind = Literal["x", "n", "t"]
PLACEHOLDERS: dict[PlaceholderKind, int] = {"x": 16, "n": 16, "t": 8}
"""How many there are: x for text, n for numbers, t for times."""
_COMPOUND = re.compile(r"-[^\W\d]")
_FILLED_IN = ("{", "%", "${", ":")
_BEGINS_WITH_WORD, _ENDS_WITH_WORD = re.compile(r"[^\W\d]{2}"), re.compile(r"[^\W\d]{2}$")


class Placeholder(NamedTuple):
    kind: PlaceholderKind
    number: int

    @property
    def symbol(self) -> str:
        return f"<{self.kind}{self.number}>"


Marked = tuple[str | Placeholder, ...]
"""Text and placeholders in turn."""


def visible(parts: Iterable[str | Placeholder]) -> str:
    """Text in which a space stands for each placeholder."""
    return "".join(part if isinstance(part, str) else " " for part in parts)


@dataclass(frozen=True)
class ProtectedText:
    """A sentence whose spans are placeholders, and what each of them stands for in the translation."""

    parts: Marked
    values: dict[Placeholder, str] = field(default_factory=dict)
    source: str = ""
    """The sentence itself."""
    lengths: dict[Placeholder, int] = field(default_factory=dict)
    """Characters of the sentence that each placeholder stands for."""
    marks: frozenset[Placeholder] = frozenset()
    """Those that are no words: footnote signs, line breaks, tags. Beside a word they are read with a space between,
    since a model takes what touches a placeholder for a part of it, and copies it."""

    @property
    def read(self) -> Marked:
        """The parts as the model reads them."""
        gaps = self._gaps()
        spaced = ((part, " ") if number in gaps else (part,) for number, part in enumerate(self.parts))
        return tuple(part for group in spaced for part in group)

    def _gaps(self) -> set[int]:
        """Numbers of the parts after which a space is read that the sentence does not have."""
        gaps = set()
        for number, (part, after) in enumerate(pairwise(self.parts)):
            if isinstance(part, Placeholder):
                touches = part in self.marks and isinstance(after, str) and _BEGINS_WITH_WORD.match(after)
            else:
                touches = after in self.marks and _ENDS_WITH_WORD.search(part)
            if touches:
                gaps.add(number)
        return gaps

    def rejoined(self, parts: Iterable[str | Placeholder]) -> list[str | Placeholder]:
        """A translation in parts, without the spaces between marks and words that only the model read."""
        made, gaps = list(parts), self._gaps()
        for number, part in enumerate(made):
            if not isinstance(part, Placeholder) or part not in self.parts:
                continue
            here = self.parts.index(part)
            before, after = made[number - 1] if number else "", made[number + 1] if number + 1 < len(made) else ""
            if here - 1 in gaps and isinstance(before, str) and before:
                made[number - 1] = before.removesuffix(" ")
            if here in gaps and isinstance(after, str) and after:
                made[number + 1] = re.sub(r"^ |^-(?=[^\W\d])", "", after)  # the -Handbuch is no compound
        return [part for part in made if part]

    def restore(self, parts: Iterable[str | Placeholder]) -> str:
        """A translation in parts with every placeholder written out."""
        return "".join(part if isinstance(part, str) else self.values.get(part, "") for part in parts)

    def spaced(self, parts: Sequence[str | Placeholder]) -> list[str | Placeholder]:
        """A translation in parts, with a space between a placeholder and a word where the model forgot it: where the
        source has one, too. The stop of an abbreviation (44 v. Chr.) also ends the sentence. What a program will fill
        in makes no compound ({0}-Dateien)."""
        made: list[str | Placeholder] = []
        for number, part in enumerate(parts):
            before = parts[number - 1] if number else ""
            if isinstance(before, Placeholder) and isinstance(part, str) and _COMPOUND.match(part):
                filled_in = self.values.get(before, "").startswith(_FILLED_IN) and self._has_space(before, 1)
                part = f" {part[1:]}" if filled_in else part
            if isinstance(before, Placeholder) and isinstance(part, str) and part[:1].isalnum():
                made.append(" " * self._has_space(before, 1))
            elif isinstance(part, Placeholder) and isinstance(before, str) and before[-1:].isalnum():
                made.append(" " * self._has_space(part, -1))
            if isinstance(before, Placeholder) and before.kind == "n" and isinstance(part, str):
                part = part[1:] if part.startswith(".") and self.values.get(before, "").endswith(".") else part
            made.append(part)
        return [part for part in made if part]

    def _has_space(self, placeholder: Placeholder, side: int) -> bool:
        """True if the source has a space, or nothing, on one side of a placeholder."""
        if placeholder not in self.parts:
            return False
        number = self.parts.index(placeholder) + side
        beside = self.parts[number] if 0 <= number < len(self.parts) else " "
        return isinstance(beside, str) and (beside[0] if side > 0 else beside[-1]) == " "

    def with_words(self, words: Mapping[str, str]) -> ProtectedText:
        """With further words as placeholders wherever they stand, and what they stand for, as far as there are enough
        placeholders."""
        wanted = re.compile(rf"(?<!\w)({any_of(words)})(?!\w)")
        numbers = iter(sorted({*range(PLACEHOLDERS["x"])} - {one.number for one in self.values if one.kind == "x"}))
        parts: list[str | Placeholder] = []
        values, lengths = dict(self.values), dict(self.lengths)
        for part in self.parts:
            for text in wanted.split(part) if isinstance(part, str) else [part]:
                number = next(numbers, None) if isinstance(text, str) and text in words else None
                if number is None:
                    parts.append(text)
                    continue
                placeholder = Placeholder("x", number)
                values[placeholder], lengths[placeholder] = words[str(text)], len(text)
                parts.append(placeholder)
        return ProtectedText(tuple(part for part in parts if part), values, self.source, lengths, self.marks)

    def stripped(self) -> tuple[str, ProtectedText, str]:
        """The spaces before it, the text, the spaces after it."""
        parts = list(self.parts)
        before = after = ""
        if parts and isinstance(parts[0], str):
            before = " " * (len(parts[0]) - len(parts[0].lstrip(" ")))
            parts[0] = parts[0].lstrip(" ")
        if parts and isinstance(parts[-1], str):
            after = " " * (len(parts[-1]) - len(parts[-1].rstrip(" ")))
            parts[-1] = parts[-1].rstrip(" ")
        kept = tuple(part for part in parts if part)
        bare = ProtectedText(kept, self.values, self.source.strip(" "), self.lengths, self.marks)
        return before, bare, after

    def visible_offset(self, offset: int) -> int:
        """Where a character of the sentence is in what the model sees, each placeholder being one character."""
        seen = here = 0
        gaps = self._gaps()
        for number, part in enumerate(self.parts):
            length, shown = (len(part),) * 2 if isinstance(part, str) else (self.lengths[part], 1)
            if offset < here + length:
                return seen + min(offset - here, shown)
            here, seen = here + length, seen + shown + (number in gaps)
        return seen

    @property
    def visible(self) -> str:
        """What the model sees of the text."""
        return visible(self.parts)
