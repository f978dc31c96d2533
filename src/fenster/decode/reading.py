"""What a model reads of a text: rewritten where it would misread it, small letters instead of capitals, and without
words that it does not know."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from fenster.data.tokenizer import Ids, Tokenizer
from fenster.language import Language, Register
from fenster.language.abbreviations import Abbreviations
from fenster.language.capitals import is_capitals, small
from fenster.language.characters import INVISIBLE, usual_characters
from fenster.language.lexicon import Lexicon
from fenster.language.people import People
from fenster.language.protected_text import Marked, ProtectedText, visible

_LONGEST_WORD = 80  # characters


class Reader:
    """Reads for one model, in its source language if its conventions are known."""

    def __init__(
        self, tokenizer: Tokenizer, source: Language | None, lexicon: Lexicon | None, *, protects: bool
    ) -> None:
        """`protects`: text is rewritten, and names are kept as far as the model has placeholders."""
        self._tokenizer, self._source, self._lexicon = tokenizer, source, lexicon
        self._protects, self._keeps = protects, protects and bool(tokenizer.placeholders)
        self._rewrites = {} if source is None else source.rewrites
        self._abbreviations = None if source is None else Abbreviations(source)
        self._people = None if source is None or not source.first_names else People(source)
        self._usual_characters = usual_characters(tokenizer.characters, source)

    def encode(self, text: ProtectedText, register: Register | None = None, *, rewrites: bool = True) -> Ids:
        """The ids that the model reads. With `rewrites` what it easily misreads is written differently, which moves
        what follows, so that marks are not found again."""
        read = tuple(part.translate(INVISIBLE) if isinstance(part, str) else part for part in text.read)
        parts = self._rewritten_parts(read) if rewrites and self._protects else read
        if self.is_capitals(text.visible):
            parts = tuple(
                small(part, self._source, number == 0) if isinstance(part, str) else part
                for number, part in enumerate(parts)
            )
        if len(parts) == 1 and isinstance(parts[0], str):
            ids = self._tokenizer.encode_each([parts[0]])[0]
        else:
            ids = self._tokenizer.encode_marked(parts)
        symbol = None if register is None else self._tokenizer.registers.get(register)
        return ids if symbol is None else np.concatenate([np.array([symbol], dtype=ids.dtype), ids])

    def _rewritten_parts(self, parts: Marked) -> Marked:
        return tuple(
            self._rewritten(part, parts[number + 1 : number + 2]) if isinstance(part, str) else part
            for number, part in enumerate(parts)
        )

    def _rewritten(self, part: str, after: Marked) -> str:
        """What is easily misread, differently. \\0 stands for a number `after` it, \\1 for any other placeholder, so
        that the end of the part is not that of the text."""
        end = "".join("\1" if isinstance(one, str) or one.kind == "x" else "\0" for one in after)
        part += end
        for pattern, written in self._rewrites.items():
            part = re.sub(pattern, written, part)
        return (part if self._abbreviations is None else self._abbreviations.expanded(part)).removesuffix(end)

    def is_capitals(self, text: str) -> bool:
        """True for a text that is read in small letters."""
        return is_capitals(text, self._is_ordinary)

    def _is_ordinary(self, word: str) -> bool:
        """True for a word in small letters that the model knows well, and that is no acronym."""
        if self._source is not None and word.upper() in self._source.acronyms:
            return False
        is_common = self._lexicon is not None and self._lexicon.is_common(word)
        return is_common or len(self._tokenizer.encode_each([word])[0]) == 1

    def names(self, text: ProtectedText) -> tuple[str, ...]:
        """Words that should come out as they are; abbreviations should not."""
        if self._source is None or not self._keeps:
            return ()
        read = visible(self._rewritten_parts(text.parts))
        if self.is_capitals(read):
            return ()
        unknown = () if self._lexicon is None else self._lexicon.names(read, self._source)
        if self._people is None:
            return unknown
        # Of surnames behind titles those that are words: only these are translated (Ms. Young).
        words = (name for name in self._people.titled(read) if self._lexicon and name.lower() in self._lexicon)
        return tuple(dict.fromkeys((*unknown, *self._people.names(read), *words)))

    def people_in_capitals(self, text: str) -> list[tuple[int, int]]:
        """Names of people, which cannot be told from words once the text is in small letters."""
        if self._people is None or not self._keeps:
            return []
        return self._people.in_capitals(text)

    def has_unusual_letters(self, text: str) -> bool:
        """True if it has letters that the model would make nonsense of."""
        return any(one.isalpha() and one not in self._usual_characters for one in text)

    def unknown_words(self, text: str, singles: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Words with characters that the model would make nonsense of; and what is too long to be a word. Marks in
        the text (footnotes, line breaks) are not part of the words beside them."""
        for start, end in singles:
            text = text[:start] + " " * (end - start) + text[end:]
        known = self._usual_characters | {*map(chr, INVISIBLE)}
        if not self._tokenizer.placeholders:
            return []
        longest = len(text) if self._source is None else _LONGEST_WORD
        if set(text) <= known and len(text) <= longest:
            return []
        words = (match.span() for match in re.finditer(r"[^\s()\[\]{}\"“”„,;:!?<>]+", text))
        return [(start, end) for start, end in words if end - start > longest or not set(text[start:end]) <= known]
