"""The words of the training data that a model knows how to translate. A capitalised word that is none of them is a
name, and has to come out as it went in.

Kept as a Bloom filter, which is small; the few words that it wrongly takes for known ones are left to the model.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fenster.errors import InputError
from fenster.language import Language
from fenster.language.names import is_copied

_BYTES = 1 << 19  # of a million other words ten are taken for known ones if there are 130,000
_HASHES = 8
_WORD = re.compile(r"(?<![\w'’&-])[^\W\d_]{3,}(?!\w)")
_SMALL = re.compile(r"(?<!\w)[^\W\d_]+(?!\w)")
_COMMON = "+"  # before words in small letters that occur _COMMON_TIMES or more: what people mistype
_COMMON_TIMES = 20
_FREQUENT = 50  # times that a capitalised word occurs: whatever the model makes of it, it has reasons
_USUALLY = 0.5  # of its occurrences are translated
_LONG = 7  # letters: names that differ from a common word in one of them are rare
_DRAWN_OUT = re.compile(r"(.)\1\1", re.IGNORECASE)
_MOST_TYPES = 4_000_000  # counted at once; then those that occurred once are forgotten
_SENTENCE_STARTS = frozenset(".!?:\"“„'‘(–—-")  # behind these a capital shows nothing


class Lexicon:
    def __init__(self, bits: npt.NDArray[np.uint8]) -> None:
        self._bits = bits

    def __contains__(self, word: str) -> bool:
        return all(self._bits[at >> 3] >> (at & 7) & 1 for at in _places(word))

    def is_common(self, word: str) -> bool:
        """True for a word in small letters that the training data has often."""
        return _COMMON + word in self

    @classmethod
    def load(cls, path: Path) -> Lexicon:
        bits = np.frombuffer(path.read_bytes(), dtype=np.uint8)
        if len(bits) != _BYTES:
            raise InputError(f"has {len(bits)} bytes", path=path, expected=str(_BYTES), fix="copy the folder again")
        return cls(bits)

    def save(self, path: Path) -> None:
        path.write_bytes(self._bits.tobytes())

    def names(self, text: str, language: Language) -> tuple[str, ...]:
        """The capitalised words of a sentence that are not known, each once. A word at its start may be one that was
        mistyped."""
        if language.capitalises_nouns:
            return ()
        names: dict[str, None] = {}
        for match in _WORD.finditer(text):
            word = match.group()
            if not word[0].isupper() or word in self or word.lower() in self:
                continue
            if word.endswith(language.translated_endings):
                continue
            if not (word[1:].islower() and self._is_mistyped(word, text, match)):
                names[word] = None
        return tuple(names)

    def _is_mistyped(self, word: str, text: str, match: re.Match[str]) -> bool:
        """True for what may well be a common word with an error, or an exclamation."""
        starts = _starts(text, match.start())
        if starts and (_DRAWN_OUT.search(word) or text[match.end() : match.end() + 1] == "!"):
            return True
        return (starts or len(word) >= _LONG) and self._has_neighbour(word.lower())

    def _has_neighbour(self, word: str) -> bool:
        """True if one typing error lies between a word and a common one."""
        letters = "abcdefghijklmnopqrstuvwxyz"
        for at in range(len(word) + 1):
            before, after = word[:at], word[at:]
            others = [before + after[1:], before + after[1:2] + after[:1] + after[2:]]
            others += [before + letter + rest for letter in letters for rest in (after, after[1:])]
            if any(self.is_common(other) for other in others if other != word):
                return True
        return False


class LexiconBuilder:
    """Collects words from pairs of sentences."""

    def __init__(self) -> None:
        self._small: Counter[str] = Counter()
        self._capitalised: Counter[str] = Counter()
        self._copied: Counter[str] = Counter()

    def add(self, source: str, target: str) -> None:
        self._small.update(word for word in _SMALL.findall(source) if word[0].islower())
        for match in _WORD.finditer(source):
            word = match.group()
            if word[0].isupper() and not _starts(source, match.start()):
                self._capitalised[word] += 1
                self._copied[word] += is_copied(word, target)
        if len(self._small) + len(self._capitalised) > _MOST_TYPES:
            self._small, self._capitalised = _frequent(self._small), _frequent(self._capitalised)
            self._copied = Counter({word: self._copied[word] for word in self._capitalised})

    def lexicon(self) -> Lexicon:
        """Words that occur in small letters, capitalised ones that are frequent, and those that are usually
        translated."""
        bits = np.zeros(_BYTES, dtype=np.uint8)
        known = {
            word
            for word, count in self._capitalised.items()
            if count >= _FREQUENT or self._copied[word] < (1 - _USUALLY) * count
        }
        common = {_COMMON + word for word, count in self._small.items() if count >= _COMMON_TIMES}
        common |= {_COMMON + word.lower() for word, count in self._capitalised.items() if count >= _FREQUENT}
        for word in self._small.keys() | known | common:
            for at in _places(word):
                bits[at >> 3] |= 1 << (at & 7)
        return Lexicon(bits)


def _starts(text: str, at: int) -> bool:
    before = text[:at].rstrip()
    return not before or before[-1] in _SENTENCE_STARTS


def _frequent(words: Counter[str]) -> Counter[str]:
    return Counter({word: count for word, count in words.items() if count > 1})


def _places(word: str) -> list[int]:
    digest = hashlib.blake2b(word.encode(), digest_size=4 * _HASHES).digest()
    return [int.from_bytes(digest[i : i + 4], "little") % (8 * _BYTES) for i in range(0, 4 * _HASHES, 4)]
