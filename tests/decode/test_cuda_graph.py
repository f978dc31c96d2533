"""Searches in tensors of fixed shapes: what CUDA graphs replay, here step by step, and on a GPU for real."""

from dataclasses import dataclass

import pytest
import torch

from fenster.data.dataset import PreparedData
from fenster.decode.config import DecodeConfig
from fenster.decode.search import SearchRequest
from fenster.decode.search.pytorch import cuda_graph, searcher
from fenster.decode.search.pytorch.beam import BeamState, beam_step
from fenster.decode.search.pytorch.cuda_graph import StepGraphs, copy
from fenster.decode.search.pytorch.log import StepOutput
from fenster.decode.search.pytorch.searcher import PytorchSearcher
from fenster.decode.search.pytorch.tree import leaves, rebuilt, signature
from fenster.model.layout import round_up_to_bucket
from fenster.model.model_folder import LoadedModel
from fenster.model.transformer import Transformer
from tests.helpers.models import KINDS, make_loaded
from tests.helpers.searches import some_requests


class Replayed:
    """What a captured step does, without a GPU: nothing of a state may change but what its tensors hold."""

    made = 0

    def __init__(self, model: Transformer, state: BeamState, beam: int) -> None:
        Replayed.made += 1
        self.state = rebuilt(state, (x.clone() for x in leaves(state)))
        self._model, self._beam = model, beam

    def load(self, state: BeamState) -> None:
        copy(state, self.state)

    def launch(self) -> "Finished":
        after, output = beam_step(self._model, self.state, self._beam)
        assert signature(after) == signature(self.state)
        copy(after, self.state)
        return Finished(output)


@dataclass(frozen=True)
class Finished:
    output: StepOutput

    def wait(self) -> StepOutput:
        return self.output


def found(
    loaded: LoadedModel, work: list[SearchRequest], beam: int, graphs: StepGraphs | None = None
) -> list[list[tuple[tuple[int, ...], tuple[int, ...]]]]:
    made = PytorchSearcher(loaded.model, DecodeConfig(beam=beam, precision="float32"))
    made._graphs = graphs
    return [[(h.ids, h.capped) for h in hypotheses] for hypotheses in made.search(work)]


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 4])
def test_static_shapes_find_the_same(
    loaded: LoadedModel, toy: PreparedData, beam: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = some_requests(toy)
    plain = found(loaded, work, beam)
    kept = StepGraphs(Replayed)
    monkeypatch.setattr(searcher, "graphs_pay_off", lambda *_: True)
    monkeypatch.setattr(cuda_graph, "_EXTRA_TOKENS", 5)
    assert found(loaded, work, beam, kept) == plain
    before = Replayed.made
    assert found(loaded, work[::-1], beam, kept)[::-1] == plain
    # Another order, the same shapes: what was made serves again.
    assert Replayed.made == before


def test_old_steps_are_given_up(toy: PreparedData, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = make_loaded(toy, "sentence")
    kept = StepGraphs(Replayed)
    plain = found(loaded, some_requests(toy), 3)
    monkeypatch.setattr(searcher, "graphs_pay_off", lambda *_: True)
    monkeypatch.setattr(cuda_graph, "_EXTRA_TOKENS", 5)
    monkeypatch.setattr(cuda_graph, "_KEPT", 0)
    assert found(loaded, some_requests(toy), 3, kept) == plain
    assert len(kept._steps) == 1


def test_bucket_sizes() -> None:
    assert [round_up_to_bucket(n) for n in (1, 16, 17, 24, 25, 32, 33, 48, 49, 1000)] == [
        16, 16, 24, 24, 32, 32, 48, 48, 64, 1024,
    ]  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])  # fused kernels are for the second
def test_captured_steps_find_the_same(
    toy: PreparedData, kind: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = make_loaded(toy, kind)
    loaded.model.to("cuda", dtype)
    captured = [found(loaded, work, 4) for work in (some_requests(toy), some_requests(toy)[::-1], some_requests(toy))]
    monkeypatch.setattr(searcher, "graphs_pay_off", lambda *_: False)
    plain = found(loaded, some_requests(toy), 4)
    assert captured[0] == captured[1][::-1] == captured[2] == plain
