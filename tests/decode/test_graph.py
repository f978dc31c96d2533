"""Searches in tensors of fixed shapes: what CUDA graphs replay, here step by step, and on a GPU for real."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from fenster.decode import graph
from fenster.decode.beam import Front, Limits, advanced
from fenster.decode.graph import Graphs, copy
from fenster.decode.job import Job, run
from fenster.decode.trail import Report
from fenster.decode.tree import leaves, rebuilt, signature
from fenster.model import Transformer
from fenster.model.packed import recurring
from fenster.model.saved import Saved
from fenster.shards import Prepared
from tests.decode.conftest import KINDS, make_saved


class Replayed:
    """What a captured step does, without a GPU: nothing of a front may change but what its tensors hold."""

    made = 0

    def __init__(self, model: Transformer, front: Front, beam: int) -> None:
        Replayed.made += 1
        self.front = rebuilt(front, (x.clone() for x in leaves(front)))
        self._model, self._beam = model, beam

    def load(self, front: Front) -> None:
        copy(front, self.front)

    def launch(self) -> "Found":
        after, report = advanced(self._model, self.front, self._beam)
        assert signature(after) == signature(self.front)
        copy(after, self.front)
        return Found(report)


@dataclass(frozen=True)
class Found:
    found: Report

    def report(self) -> Report:
        return self.found


def jobs(toy: Prepared) -> list[Job]:
    side = toy.split("valid").shards[0].source

    def sentences(count: int, first: int) -> list[np.ndarray]:
        return [side.sentence(number) for number in range(first, first + count)]

    return [
        Job(sentences(1, 3), (), Limits((12,), one=True)),
        Job(sentences(3, 5), sentences(2, 9), Limits((60,), one=True), source_before=11, target_before=7),
        Job(sentences(4, 20), (), Limits((8, 9, 10, 11))),
        Job(sentences(2, 30), (), Limits((20, 20), forced=False)),
        Job(sentences(2, 40), (), Limits((5, 5)), bod=True),
        *(Job(sentences(1, n), (), Limits((2 + n % 3,), one=True)) for n in range(50, 62)),
    ]


def found(saved: Saved, work: list[Job], beam: int) -> list[list[tuple[tuple[int, ...], tuple[int, ...]]]]:
    results = run(saved.model, work, beam=beam, normalisation=1.0, alignment=None, precision="float32")
    return [[(h.ids, h.capped) for h in each] for each in results]


@pytest.mark.parametrize("beam", [1, 4])
def test_fixed_shapes_find_the_same(saved: Saved, toy: Prepared, beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
    work = jobs(toy)
    plain = found(saved, work, beam)
    kept = Graphs(Replayed)
    monkeypatch.setattr(graph, "suits", lambda *_: True)
    monkeypatch.setattr(graph, "graphs", lambda _: kept)
    monkeypatch.setattr(graph, "_MORE", 5)
    assert found(saved, work, beam) == plain
    before = Replayed.made
    assert found(saved, work[::-1], beam)[::-1] == plain
    # Another order, the same shapes: what was made serves again.
    assert Replayed.made == before


def test_old_steps_are_given_up(toy: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = make_saved(toy, "sentence")
    kept = Graphs(Replayed)
    plain = found(saved, jobs(toy), 3)
    monkeypatch.setattr(graph, "suits", lambda *_: True)
    monkeypatch.setattr(graph, "graphs", lambda _: kept)
    monkeypatch.setattr(graph, "_MORE", 5)
    monkeypatch.setattr(graph, "_KEPT", 0)
    assert found(saved, jobs(toy), 3) == plain
    assert len(kept._steps) == 1


def test_recurring() -> None:
    assert [recurring(n) for n in (1, 16, 17, 24, 25, 32, 33, 48, 49, 1000)] == [
        16, 16, 24, 24, 32, 32, 48, 48, 64, 1024,
    ]  # fmt: skip


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])  # fused kernels are for the second
def test_captured_steps_find_the_same(
    toy: Prepared, kind: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = make_saved(toy, kind)
    saved.model.to("cuda", dtype)
    captured = [found(saved, work, 4) for work in (jobs(toy), jobs(toy)[::-1], jobs(toy))]
    monkeypatch.setattr(graph, "suits", lambda *_: False)
    plain = found(saved, jobs(toy), 4)
    assert captured[0] == captured[1][::-1] == captured[2] == plain
