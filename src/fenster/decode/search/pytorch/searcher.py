"""Searches with PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fenster.decode.config import DecodeConfig
from fenster.decode.search.base import Searcher
from fenster.decode.search.constraints import ControlSymbols
from fenster.decode.search.hypothesis import Hypothesis
from fenster.decode.search.memory import USABLE, free_memory, most_at_once
from fenster.decode.search.pytorch.beam import begin, run_steps
from fenster.decode.search.pytorch.constraint_tensors import ConstraintTensors
from fenster.decode.search.pytorch.cuda_graph import StepGraphs, graphs_pay_off
from fenster.decode.search.pytorch.inputs import SearchInputs
from fenster.decode.search.pytorch.log import HypothesisLog
from fenster.decode.search.request import SearchRequest
from fenster.decode.search.terms import Logs
from fenster.model.decoder_state import DecoderState
from fenster.model.ops.device import out_of_memory
from fenster.model.ops.precision import at_least_float32, matmul_precision
from fenster.model.transformer import Transformer


class PytorchSearcher(Searcher):
    def __init__(
        self,
        model: Transformer,
        config: DecodeConfig,
        symbols: ControlSymbols | None = None,
        joins_word: NDArray[np.bool_] | None = None,
    ) -> None:
        super().__init__(config, symbols, joins_word)
        self.model = model
        self._graphs: StepGraphs | None = None

    @contextmanager
    def _steps(self, readings: Sequence[SearchRequest], width: int) -> Iterator[_Steps]:
        with self._computing():
            yield _Steps(self.model, *self._prefilled(readings))

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

    @contextmanager
    def _computing(self) -> Iterator[None]:
        with torch.inference_mode(), matmul_precision(self.config.precision, self.model.device):
            yield

    def _prefilled(self, requests: Sequence[SearchRequest]) -> tuple[Tensor, DecoderState]:
        model, config = self.model, self.config
        inputs = SearchInputs.of(requests, model.device)
        alignment = None if config.alignment is None else model.alignment(config.alignment)
        memory = model.encode(inputs.source_ids, inputs.source)
        return model.prefill(inputs.prefix_ids, inputs.target, memory, inputs.source, alignment, config.focus)

    def _fitting(self, requests: Sequence[SearchRequest]) -> int:
        model = self.model
        return most_at_once(model.config, model.vocab_size, requests, self.config.beam, free_bytes(model.device))

    def _is_out_of_memory(self, error: BaseException) -> bool:
        return out_of_memory(error)

    def _free_memory(self) -> None:
        self._graphs = None
        torch.cuda.empty_cache()


class _Steps:
    """The steps of a search for terms, on the host."""

    def __init__(self, model: Transformer, hidden: Tensor, decoder: DecoderState) -> None:
        self._model, self._hidden, self._decoder = model, hidden, decoder
        self.readings = len(hidden)

    def logs(self) -> Logs:
        logs = at_least_float32(self._model.logits(self._hidden)).log_softmax(-1)
        array: Logs = logs.view(self.readings, -1, logs.shape[-1]).cpu().numpy()
        return array

    def step(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        before = len(self._hidden) // self.readings
        rows = [row + before * reading for reading in range(self.readings) for row in parents]
        chosen, previous = (
            torch.tensor(numbers, device=self._model.device) for numbers in (rows, [*tokens] * self.readings)
        )
        self._hidden, self._decoder = self._model.step(previous, self._decoder.reorder(chosen, len(parents)))


def free_bytes(device: torch.device) -> int:
    """What searches may take on a device."""
    if device.type != "cuda":
        return free_memory()
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)  # PyTorch keeps it for us
    return int(USABLE * (torch.cuda.mem_get_info(device)[0] + unused))
