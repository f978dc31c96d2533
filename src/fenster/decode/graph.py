"""Steps of a search as CUDA graphs: one launch for what is otherwise a thousand.

A graph holds one step for tensors of one shape, wherever in a document that is. Shapes are rounded up so that few
graphs serve all searches: lanes to a power of two, sources and what full attention keeps to `recurring` sizes; with
windows what is kept has one size anyway. The host reads what a step found while the device is at the next, so that a
search ends a step late, which changes nothing but that step's time.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from fenster.decode.beam import Front, advanced
from fenster.decode.trail import Report, Trails
from fenster.decode.tree import leaves, rebuilt, signature
from fenster.model.packed import power_of_two
from fenster.model.transformer import Transformer

_MORE = 32  # tokens that full attention gets room for at a time
_LARGE = 1 << 31  # bytes of a step's state beyond which launches are not what takes the time
_KEPT = 1 << 34  # bytes of all graphs' states, or a quarter of the device's memory where that is less
_MOST = 64  # graphs


def suits(front: Front, model: Transformer, beam: int, most: int) -> bool:
    """Whether graphs can and should run a search of at most so many steps: on a GPU, if its state will not be so
    large that reading it takes more time than launching kernels (whole documents, full attention)."""
    config = model.config
    usual = len(model.embedding.weight) >= 2 * beam  # with fewer words a beam widens step by step
    a_token = 0 if front.state.past.capacity is None else 2 * config.decoder_layers * config.width
    growth = most * beam * len(front.rows) * a_token * front.sums.element_size()
    return front.sums.is_cuda and usual and _bytes(front) + growth < _LARGE


class Graphs:
    """All graphs of one model. `make` is another way to make a step, for tests without a GPU."""

    def __init__(self, make: Callable[[Transformer, Front, int], Step] | None = None) -> None:
        pool = torch.cuda.graph_pool_handle() if make is None else None
        self._make = make or partial(_Captured, pool=pool)
        self._steps: OrderedDict[Hashable, Step] = OrderedDict()  # the one used last at the end

    def run(self, model: Transformer, front: Front, trails: Trails, beam: int) -> None:
        """From `front`, whose report was noted, until no lane goes on."""
        step: Step | None = None
        behind: Launched | None = None  # what the host has not read yet
        room = 0.0  # steps until state is full
        while trails.going:
            if step is None or room == 0 or 4 * trails.going <= len(front.rows):
                if behind is not None and not trails.note(behind.report()):
                    break
                behind = None
                keep = torch.tensor(trails.leave(power_of_two(trails.going)), device=front.rows.device)
                kept = front.of_lanes(keep)
                fixed = kept.fixed(0 if room else _MORE)
                room += _gained(kept, fixed)
                step = self._step(model, fixed, beam)
                front = step.front
            launched = step.launch()
            room -= 1
            if behind is not None:
                trails.note(behind.report())
            behind = launched

    def _step(self, model: Transformer, front: Front, beam: int) -> Step:
        """A graph for tensors of this shape, loaded with these."""
        weights = model.embedding.weight.data_ptr(), torch.backends.cuda.matmul.fp32_precision
        key = (signature(front), beam, weights)
        step = self._steps.pop(key, None)
        if step is None:
            step = self._make(model, front, beam)
        else:
            step.load(front)
        self._steps[key] = step
        while len(self._steps) > 1 and self._too_many(front.rows.device):
            self._steps.popitem(last=False)
        return step

    def _too_many(self, device: torch.device) -> bool:
        memory = torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else 4 * _KEPT
        kept = sum(_bytes(each.front) for each in self._steps.values())
        return len(self._steps) > _MOST or kept > min(_KEPT, memory // 4)


class Launched(Protocol):
    """A step under way."""

    def report(self) -> Report:
        """What it found, as soon as it has."""


class Step(Protocol):
    """`front` before a step is `front` after it: results are written over inputs."""

    front: Front

    def load(self, front: Front) -> None: ...

    def launch(self) -> Launched: ...


@dataclass(frozen=True)
class _OnItsWay:
    there: Report
    event: torch.cuda.Event

    def report(self) -> Report:
        self.event.synchronize()
        return self.there


class _Captured:
    """A step as a CUDA graph."""

    def __init__(self, model: Transformer, front: Front, beam: int, pool: Any) -> None:
        self.front = rebuilt(front, (x.clone() for x in leaves(front)))
        # Kernels are compiled and libraries set up before the capture, on a stream of their own as PyTorch demands.
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            _, found = advanced(model, self.front, beam)
        torch.cuda.current_stream().wait_stream(aside)
        self._report = rebuilt(found, (torch.empty_like(x) for x in leaves(found)))
        self._host = [rebuilt(found, (_pinned(x) for x in leaves(found))) for _ in range(2)]
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, pool=pool, capture_error_mode="thread_local"):
            copy(advanced(model, self.front, beam), (self.front, self._report))

    def load(self, front: Front) -> None:
        copy(front, self.front)

    def launch(self) -> _OnItsWay:
        self._graph.replay()
        self._host.reverse()  # the other one may still be read
        copy(self._report, self._host[0])
        event = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record()
        return _OnItsWay(self._host[0], event)


def copy(source: object, target: object) -> None:
    """The tensors of one tree over those of another."""
    for new, old in zip(leaves(source), leaves(target), strict=True):
        if new is not old:
            old.copy_(new, non_blocking=True)


def _pinned(x: Tensor) -> Tensor:
    return torch.empty(x.shape, dtype=x.dtype, pin_memory=True)


def _bytes(front: Front) -> int:
    return sum(x.numel() * x.element_size() for x in leaves(front))


def _gained(before: Front, after: Front) -> float:
    """Steps that there is more room for."""
    old, new = before.state.past.capacity, after.state.past.capacity
    return math.inf if old is None or new is None else (new - old) // after.rows.shape[1]


_GRAPHS: WeakKeyDictionary[Transformer, Graphs] = WeakKeyDictionary()


def graphs(model: Transformer) -> Graphs:
    """Those of a model: captured once, used by all its searches."""
    if model not in _GRAPHS:
        _GRAPHS[model] = Graphs()
    return _GRAPHS[model]


def forget(model: Transformer) -> None:
    """Give back the memory of a model's graphs."""
    _GRAPHS.pop(model, None)
