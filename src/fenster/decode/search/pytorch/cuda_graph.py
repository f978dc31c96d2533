"""Steps of a search as CUDA graphs: one launch for what is otherwise a thousand.

A graph holds one step for tensors of one shape, wherever in a document that is. Shapes are rounded up so that few
graphs serve all searches: the number of searches to a power of two, sources and full-attention caches to the sizes of
`round_up_to_bucket`; window caches have one size anyway. The host reads a step's output while the device computes the
next, so that a search ends a step late, which changes nothing but that step's time.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor

from fenster.decode.search.pytorch.beam import BeamState, beam_step
from fenster.decode.search.pytorch.log import HypothesisLog, StepOutput
from fenster.decode.search.pytorch.tree import leaves, rebuilt, signature
from fenster.model.layout import power_of_two
from fenster.model.transformer import Transformer

_EXTRA_TOKENS = 32  # that full-attention caches get room for at a time
_LARGE = 1 << 31  # bytes of a step's caches beyond which launches are not what takes the time
_KEPT = 1 << 34  # bytes of all graphs' caches, or a quarter of the device's memory if that is less
_MAX_GRAPHS = 64


def graphs_pay_off(state: BeamState, model: Transformer, beam: int, steps: int) -> bool:
    """True if graphs can and should run a search of at most `steps` steps: on a GPU, if its caches will not be so
    large that reading them takes more time than launching kernels (whole documents, full attention)."""
    config = model.config
    usual = model.vocab_size >= 2 * beam  # with fewer words a beam widens step by step
    per_token = 0 if state.decoder.self_cache.capacity is None else 2 * config.decoder_layers * config.d_model
    growth = steps * beam * len(state.rows) * per_token * state.sums.element_size()
    return state.sums.is_cuda and usual and _bytes(state) + growth < _LARGE


class StepGraphs:
    """The graphs of one model. `make` is another way to make a step, for tests without a GPU."""

    def __init__(self, make: Callable[[Transformer, BeamState, int], GraphStep] | None = None) -> None:
        pool = torch.cuda.graph_pool_handle() if make is None else None
        self._make = make or partial(_Captured, pool=pool)
        self._steps: OrderedDict[Hashable, GraphStep] = OrderedDict()  # the one used last at the end

    def run_steps(self, model: Transformer, state: BeamState, log: HypothesisLog, beam: int) -> None:
        """From `state`, whose output was recorded, until no search is active."""
        step: GraphStep | None = None
        pending: PendingOutput | None = None  # what the host has not read yet
        room = 0.0  # steps until the caches are full
        while log.n_active:
            if step is None or room == 0 or 4 * log.n_active <= len(state.rows):
                if pending is not None and not log.record(pending.wait()):
                    break
                pending = None
                keep = torch.tensor(log.drop_finished(power_of_two(log.n_active)), device=state.rows.device)
                kept = state.select(keep)
                static = kept.with_static_shapes(0 if room else _EXTRA_TOKENS)
                room += _gained(kept, static)
                step = self._step(model, static, beam)
                state = step.state
            launched = step.launch()
            room -= 1
            if pending is not None:
                log.record(pending.wait())
            pending = launched

    def _step(self, model: Transformer, state: BeamState, beam: int) -> GraphStep:
        """A graph for tensors of this shape, loaded with these."""
        weights = model.embedding.weight.data_ptr(), torch.backends.cuda.matmul.fp32_precision
        key = (signature(state), beam, weights)
        step = self._steps.pop(key, None)
        if step is None:
            step = self._make(model, state, beam)
        else:
            step.load(state)
        self._steps[key] = step
        while len(self._steps) > 1 and self._too_many(state.rows.device):
            self._steps.popitem(last=False)
        return step

    def _too_many(self, device: torch.device) -> bool:
        memory = torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else 4 * _KEPT
        kept = sum(_bytes(step.state) for step in self._steps.values())
        return len(self._steps) > _MAX_GRAPHS or kept > min(_KEPT, memory // 4)


class PendingOutput(Protocol):
    """The output of a step that may still be running."""

    def wait(self) -> StepOutput: ...


class GraphStep(Protocol):
    """`state` before a step is `state` after it: results are written over inputs."""

    state: BeamState

    def load(self, state: BeamState) -> None: ...

    def launch(self) -> PendingOutput: ...


@dataclass(frozen=True)
class _PendingCopy:
    host: StepOutput
    event: torch.cuda.Event

    def wait(self) -> StepOutput:
        self.event.synchronize()
        return self.host


class _Captured:
    """A step as a CUDA graph."""

    def __init__(self, model: Transformer, state: BeamState, beam: int, pool: Any) -> None:
        self.state = rebuilt(state, (x.clone() for x in leaves(state)))
        # Kernels are compiled and libraries set up before the capture, on a stream of their own as PyTorch requires.
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            _, output = beam_step(model, self.state, beam)
        torch.cuda.current_stream().wait_stream(aside)
        self._output = rebuilt(output, (torch.empty_like(x) for x in leaves(output)))
        self._host = [rebuilt(output, (_pinned(x) for x in leaves(output))) for _ in range(2)]
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, pool=pool, capture_error_mode="thread_local"):
            copy(beam_step(model, self.state, beam), (self.state, self._output))

    def load(self, state: BeamState) -> None:
        copy(state, self.state)

    def launch(self) -> _PendingCopy:
        self._graph.replay()
        self._host.reverse()  # the other one may still be read
        copy(self._output, self._host[0])
        event = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record()
        return _PendingCopy(self._host[0], event)


def copy(source: object, target: object) -> None:
    """The tensors of one tree over those of another."""
    for new, old in zip(leaves(source), leaves(target), strict=True):
        if new is not old:
            old.copy_(new, non_blocking=True)


def _pinned(x: Tensor) -> Tensor:
    return torch.empty(x.shape, dtype=x.dtype, pin_memory=True)


def _bytes(state: BeamState) -> int:
    return sum(x.numel() * x.element_size() for x in leaves(state))


def _gained(before: BeamState, after: BeamState) -> float:
    """Steps that there is more room for."""
    old, new = before.decoder.self_cache.capacity, after.decoder.self_cache.capacity
    return math.inf if old is None or new is None else (new - old) // after.rows.shape[1]
