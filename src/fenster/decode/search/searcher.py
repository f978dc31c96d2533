"""Searches with one model: several requests at once, in halves if memory is short, with CUDA graphs if they pay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fenster.decode.config import DecodeConfig
from fenster.decode.search.beam import begin, run_steps
from fenster.decode.search.constraints import ConstraintTensors, ControlSymbols
from fenster.decode.search.cuda_graph import StepGraphs, graphs_pay_off
from fenster.decode.search.hypotheses import Hypothesis, HypothesisLog
from fenster.decode.search.memory import most_at_once
from fenster.decode.search.request import SearchInputs, SearchRequest
from fenster.decode.search.terms import TermSearch
from fenster.errors import FensterError
from fenster.model.decoder_state import DecoderState
from fenster.model.ops.device import out_of_memory
from fenster.model.ops.precision import matmul_precision
from fenster.model.ops.threads import native_threads
from fenster.model.transformer import Transformer


class Searcher:
    """A model and the settings of its searches."""

    def __init__(
        self,
        model: Transformer,
        config: DecodeConfig,
        symbols: ControlSymbols | None = None,
        joins_word: NDArray[np.bool_] | None = None,
    ) -> None:
        """`joins_word` [V] is True for pieces that continue the word before them; only searches for terms need
        it."""
        self.model, self.config, self.symbols = model, config, symbols or ControlSymbols()
        self._joins_word = joins_word
        self._most_at_once: int | None = None
        """Requests that fit into memory together, if more did not."""
        self._graphs: StepGraphs | None = None

    def search(self, requests: Sequence[SearchRequest]) -> list[list[Hypothesis]]:
        """The best hypotheses of each request, best first, at most `beam`. Requests that do not fit into memory
        together are searched in halves, and so are later ones: except for rounding on a GPU, the result of a search
        does not depend on the others in its batch."""
        if not requests:
            return []
        fitting = most_at_once(self.model, list(requests), self.config.beam)
        size = min(fitting, self._most_at_once or len(requests))
        waiting = [requests[first : first + size] for first in range(0, len(requests), size)][
            ::-1
        ]  # the next one last
        results: list[list[Hypothesis]] = []
        while waiting:
            batch = waiting.pop()
            try:
                results += self._search(batch)
                continue
            except RuntimeError as error:
                if not out_of_memory(error):
                    raise
                if len(batch) == 1:
                    raise FensterError(
                        f"out of memory in a single search, over a source of {batch[0].tokens:,} tokens",
                        fix="lower --beam, give less context (--context), or use another --device",
                    ) from error
            # Here, where the error and what it held are gone.
            self._graphs = None
            torch.cuda.empty_cache()
            self._most_at_once = half = (len(batch) + 1) // 2
            waiting += [batch[half:], batch[:half]]
        return results

    def search_terms(self, readings: Sequence[SearchRequest]) -> list[Hypothesis]:
        """Hypotheses of a single sentence that have all terms, best first; none if no form of a term can come. The
        requests differ only in how they read the source."""
        assert self._joins_word is not None
        search = TermSearch(self.model, readings[0], self.symbols, self._joins_word)
        try:
            with self._computing():
                hidden, decoder = self._prefilled(readings)
                return search.run(hidden, decoder, self.config.beam, self.config.normalisation)
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
            return []  # the first translation stays, with a warning

    @contextmanager
    def _computing(self) -> Iterator[None]:
        int8 = self.model.projection is not None
        threads = native_threads() if int8 else nullcontext()
        with torch.inference_mode(), matmul_precision(self.config.precision, self.model.device), threads:
            yield

    def _prefilled(self, requests: Sequence[SearchRequest]) -> tuple[Tensor, DecoderState]:
        model, config = self.model, self.config
        inputs = SearchInputs.of(requests, model.device)
        alignment = None if config.alignment is None else model.alignment(config.alignment)
        return model.prefill(
            inputs.source_ids, inputs.source, inputs.prefix_ids, inputs.target, alignment, config.focus
        )

    def _search(self, requests: Sequence[SearchRequest]) -> list[list[Hypothesis]]:
        model, config = self.model, self.config
        with self._computing():
            hidden, decoder = self._prefilled(requests)
            limits = [request.constraints for request in requests]
            sources = [request.to_come for request in requests]
            constraints = ConstraintTensors.of(
                limits,
                decoder.alignment_state.sentence,
                sources,
                self.symbols,
                [request.banned for request in requests],
                model.vocab_size,
            )
            log = HypothesisLog(len(requests), config.beam, config.normalisation)
            state, output = begin(model, hidden, decoder, constraints, config.beam, self.symbols)
            if log.record(output):
                steps = max(limit.max_steps for limit in limits)
                if graphs_pay_off(state, model, config.beam, steps):
                    self._graphs = self._graphs or StepGraphs()
                    self._graphs.run_steps(model, state, log, config.beam)
                else:
                    run_steps(model, state, log, config.beam)
        return log.n_best()
