"""What a search may produce: limits of lengths and counts of sentences, and each placeholder exactly once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fenster.data.tokenizer import BOD_ID, Ids, Tokenizer


@dataclass(frozen=True)
class ControlSymbols:
    """The ids that no model is trained to produce freely: those below `end`. Of them, `placeholders` are produced
    where the source has them."""

    end: int = BOD_ID + 1
    placeholders: range = range(0)

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> ControlSymbols:
        ids = tokenizer.placeholders.values()
        return cls(tokenizer.n_symbols, range(min(ids), max(ids) + 1) if ids else range(0))

    def required(self, sentence: Ids) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """[P] True for the placeholders of a source sentence."""
        wanted = np.zeros(len(self.placeholders), dtype=np.bool_)
        inside = np.asarray(sentence, dtype=np.int64) - self.placeholders.start
        wanted[inside[(inside >= 0) & (inside < len(wanted))]] = True
        return wanted


@dataclass(frozen=True)
class LengthConstraints:
    """The limits of one search."""

    max_tokens: tuple[int, ...]
    """Most tokens of each sentence to come, end symbol not counted; a sentence that reaches it is ended by force."""
    min_tokens: int = 0
    """Fewest tokens of a sentence."""
    forced_count: bool = True
    """Exactly as many sentences as `max_tokens` has: no `<eos>` before the last, no `<sep>` in it. Otherwise `<eos>`
    may come at any time, and sentences beyond the last of `max_tokens` share its limit."""
    stop_at_separator: bool = False
    """Stop at the first end symbol, `<sep>` or `<eos>`: one sentence of a document (sequential decoding)."""

    @property
    def max_steps(self) -> int:
        """No search with these limits takes more steps."""
        return sum(self.max_tokens) + len(self.max_tokens)
