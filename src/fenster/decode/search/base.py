"""The contract of a searcher, and what all searchers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenster.decode.config import DecodeConfig
from fenster.decode.search.constraints import ControlSymbols
from fenster.decode.search.request import SearchRequest
from fenster.errors import FensterError


@dataclass(frozen=True)
class Hypothesis:
    ids: tuple[int, ...]
    """New tokens, end symbols included."""
    score: float
    """Log-probability over length: what hypotheses are ranked by."""
    logprob: float
    """Sum over the new tokens."""
    capped: tuple[int, ...] = ()
    """Sentences (from 0) that were ended by force."""


class Searcher(ABC):
    """A model and the settings of its searches. Searches are independent: except for rounding on a GPU, the result of
    one does not depend on the others in its batch."""

    def __init__(
        self,
        config: DecodeConfig,
        symbols: ControlSymbols | None = None,
        joins_word: NDArray[np.bool_] | None = None,
    ) -> None:
        """`joins_word` [V] is True for pieces that continue the word before them; only searches for terms need
        it."""
        self.config, self.symbols = config, symbols or ControlSymbols()
        self._joins_word = joins_word
        self._most_at_once: int | None = None
        """Requests that fit into memory together, if more did not."""

    def search(self, requests: Sequence[SearchRequest]) -> list[list[Hypothesis]]:
        """The best hypotheses of each request, best first, at most `beam`. Requests that do not fit into memory
        together are searched in halves, and so are later ones."""
        if not requests:
            return []
        size = min(self._fitting(requests), self._most_at_once or len(requests))
        batches = [requests[first : first + size] for first in range(0, len(requests), size)]
        waiting = batches[::-1]  # the next one last
        results: list[list[Hypothesis]] = []
        while waiting:
            batch = waiting.pop()
            try:
                results += self._search(batch)
                continue
            except (MemoryError, RuntimeError) as error:
                if not self._is_out_of_memory(error):
                    raise
                if len(batch) == 1:
                    raise FensterError(
                        f"out of memory in a single search, over a source of {batch[0].tokens:,} tokens",
                        fix="lower --beam, give less context (--context), or use another --device",
                    ) from error
            # Here, where the error and what it held are gone.
            self._free_memory()
            self._most_at_once = half = (len(batch) + 1) // 2
            waiting += [batch[half:], batch[:half]]
        return results

    @abstractmethod
    def search_terms(self, readings: Sequence[SearchRequest]) -> list[Hypothesis]:
        """Hypotheses of a single sentence that have all terms, best first; none if no form of a term can come. The
        requests differ only in how they read the source."""

    @abstractmethod
    def _search(self, requests: Sequence[SearchRequest]) -> list[list[Hypothesis]]: ...

    @abstractmethod
    def _fitting(self, requests: Sequence[SearchRequest]) -> int:
        """About how many of them fit into memory together."""

    @abstractmethod
    def _is_out_of_memory(self, error: BaseException) -> bool: ...

    def _free_memory(self) -> None:  # noqa: B027 - most have nothing to free
        """Called after a search that did not fit."""
