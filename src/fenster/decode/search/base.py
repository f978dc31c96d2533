"""The contract of a searcher, and what all searchers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from fenster.decode.config import DecodeConfig
from fenster.decode.search.constraints import ControlSymbols
from fenster.decode.search.hypothesis import Hypothesis
from fenster.decode.search.request import SearchRequest
from fenster.decode.search.terms import Steps, TermSearch
from fenster.errors import FensterError


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
        self._most_tokens: int | None = None
        """Source tokens that fit into memory together, if more did not."""

    def search(self, requests: Sequence[SearchRequest]) -> list[list[Hypothesis]]:
        """The best hypotheses of each request, best first, at most `beam`. Requests that do not fit into memory
        together are searched in halves, and so are later ones."""
        if not requests:
            return []
        waiting = self._batches(requests)[::-1]  # the next one last
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
            half = (len(batch) + 1) // 2
            self._most_tokens = sum(request.tokens for request in batch) // 2
            waiting += [batch[half:], batch[:half]]
        return results

    def _batches(self, requests: Sequence[SearchRequest]) -> list[Sequence[SearchRequest]]:
        """Neighbours that probably fit into memory together."""
        size, batches, first, tokens = self._fitting(requests), list[Sequence[SearchRequest]](), 0, 0
        for number, request in enumerate(requests):
            too_many = self._most_tokens is not None and tokens + request.tokens > self._most_tokens
            if number > first and (number - first == size or too_many):
                batches.append(requests[first:number])
                first, tokens = number, 0
            tokens += request.tokens
        return [*batches, requests[first:]]

    def search_terms(self, readings: Sequence[SearchRequest]) -> list[Hypothesis]:
        """Hypotheses of a single sentence that have all terms, best first; none if no form of a term can come, or if
        memory does not suffice. The requests differ only in how they read the source."""
        assert self._joins_word is not None
        search = TermSearch(readings[0], self.symbols, self._joins_word)
        try:
            with self._steps(readings, search.width(self.config.beam)) as steps:
                return search.run(steps, self.config.beam, self.config.normalisation)
        except (MemoryError, RuntimeError) as error:
            if not self._is_out_of_memory(error):
                raise
            return []  # the first translation stays, with a warning

    @abstractmethod
    def _steps(self, readings: Sequence[SearchRequest], width: int) -> AbstractContextManager[Steps]:
        """The steps of a search for terms, of at most `width` hypotheses."""

    @abstractmethod
    def _search(self, requests: Sequence[SearchRequest]) -> list[list[Hypothesis]]: ...

    @abstractmethod
    def _fitting(self, requests: Sequence[SearchRequest]) -> int:
        """About how many of them fit into memory together."""

    @abstractmethod
    def _is_out_of_memory(self, error: BaseException) -> bool: ...

    def _free_memory(self) -> None:  # noqa: B027 - most have nothing to free
        """Called after a search that did not fit."""
