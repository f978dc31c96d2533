"""Where to cut a translated sentence: over cues in given shares, and into lines of a given length."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import accumulate

_AFTER_STOP, _AFTER_COMMA, _AFTER_LEADING = -0.25, -0.19, 0.15  # in shares of the text: how much worse a place is


def split_text(text: str, shares: Sequence[int], leading: Set[str] = frozenset()) -> list[str]:
    """As many parts as there are shares, cut between words, near the shares and where it reads well: behind
    punctuation, and not behind `leading` words, which belong to what follows them. Parts of a short text may be
    empty."""
    words = text.split(" ")
    lengths = [0, *accumulate(len(word) + 1 for word in words)]  # of the first words, with the space after each
    total = max(1, sum(shares))
    parts: list[str] = []
    first = 0
    wanted = 0.0
    for number, share in enumerate(shares[:-1]):
        wanted += share / total
        left = len(shares) - 1 - number  # parts to come, each with a word if possible
        cuts = range(min(first + 1, len(words)), max(first + 1, len(words) - left) + 1)
        whole = max(1, len(text))
        costs = {
            cut: _cost(words, cut, (lengths[min(cut, len(words))] - 1) / whole - wanted, leading) for cut in cuts
        }
        best = min(costs, key=costs.__getitem__)
        parts.append(" ".join(words[first:best]))
        first = best
    return [*parts, " ".join(words[first:])]


def wrapped(text: str, width: int, leading: Set[str] = frozenset()) -> list[str]:
    """One line, or two of similar length if it is longer than `width`."""
    if len(text) <= width or " " not in text:
        return [text]
    return split_text(text, (1, 1), leading)


def _cost(words: Sequence[str], cut: int, off: float, leading: Set[str]) -> float:
    """How bad a cut before word `cut` is that is `off` the wanted share of the text: how far, and how it reads."""
    far = abs(off)
    if not 0 < cut < len(words):
        return far + 1
    last = words[cut - 1]
    if last[-1:] in ".!?…":
        return far + _AFTER_STOP
    if last[-1:] in ",;:–—":
        return far + _AFTER_COMMA
    return far + (_AFTER_LEADING if last.lower() in leading else 0)
