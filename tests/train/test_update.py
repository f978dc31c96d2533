"""The fast ways of the engine give the losses of the plain one."""

from typing import Any

import numpy as np
import pytest
import torch

from fenster.data.context import AdjacentContext, ContextConfig, DocumentContext, SentenceContext
from fenster.data.dataset import PreparedData
from fenster.data.examples import ExampleIndex
from fenster.data.loader import Loader
from fenster.data.sampler import BatchConfig, Sampler
from fenster.data.tokenizer import UNK_ID
from fenster.errors import FensterError
from fenster.model.transformer import Transformer
from fenster.train.distributed import World
from fenster.train.inputs import Inputs
from fenster.train.update import Engine, word_dropout
from tests.helpers.training import make

SYSTEMS: dict[str, tuple[ContextConfig, dict[str, Any]]] = {
    "sentence": (SentenceContext(), {"attention": {"kind": "full"}}),
    "concat": (AdjacentContext(), {"attention": {"kind": "full"}}),
    "lst": (DocumentContext(), {"attention": {"kind": "lst"}}),
    "window": (DocumentContext(), {"attention": {"kind": "window", "window": 8}, "positions": "relative"}),
}


def losses(
    toy: PreparedData,
    settings: dict[str, Any],
    system: str,
    updates: int,
    device: str,
    dropout: float = 0.0,
    **more: Any,
) -> list[float]:
    context, model_settings = SYSTEMS[system]
    size: dict[str, Any] = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 128, "ffn": 256, "heads": 2}
    size |= {"dropout": dropout, "activation_dropout": dropout}
    batch = {"tokens": 1024}
    config = make(settings, context=context, model={**size, **model_settings}, batch=batch, device=device, **more)
    torch.manual_seed(0)
    model = Transformer(config.model, toy.manifest.vocab_size).to(device).train()
    engine = Engine(model, config, World(0, 1, torch.device(device)))
    sampler = Sampler(ExampleIndex.build(toy.split("train"), context), BatchConfig(**batch))
    found = []
    for number, step in zip(range(1, updates + 1), Loader(sampler).steps(), strict=False):
        inputs = Inputs.of(step.batch, engine.pad_multiple)
        engine.update(number, [inputs], inputs.tokens)
        readings = engine.read()
        found.append(readings.nll / readings.tokens)
    return found


@pytest.mark.gpu
@pytest.mark.parametrize("system", SYSTEMS)
def test_compiled_graphs_train_like_the_plain_model(toy: PreparedData, settings: dict[str, Any], system: str) -> None:
    plain = losses(toy, settings, system, 40, "cuda", compile="off", graphs="off")
    fast = losses(toy, settings, system, 40, "cuda", compile="on", graphs="on")
    wide = losses(toy, settings, system, 40, "cuda", compile="off", graphs="off", precision="float32")
    assert fast == pytest.approx(plain, rel=0.02)
    assert fast == pytest.approx(wide, rel=0.02)
    assert fast[-1] < 0.8 * fast[0]


@pytest.mark.gpu
def test_computing_the_ffn_again_changes_no_number_in_a_graph(toy: PreparedData, settings: dict[str, Any]) -> None:
    kept, again = (
        losses(toy, settings, "window", 40, "cuda", dropout=0.3, graphs="on", compile="on", checkpointing=what)
        for what in ("none", "ffn")
    )
    assert again == pytest.approx(kept, rel=0.01)


@pytest.mark.gpu
def test_rdrop_in_a_graph_trains_like_the_plain_model(toy: PreparedData, settings: dict[str, Any]) -> None:
    settings = {**settings, "optimizer": {"lr": 1e-3, "warmup": 10, "rdrop": 5.0}}
    plain = losses(toy, settings, "window", 40, "cuda", dropout=0.1, compile="off", graphs="off")
    fast = losses(toy, settings, "window", 40, "cuda", dropout=0.1, compile="on", graphs="on")
    assert fast == pytest.approx(plain, rel=0.05)
    assert fast[-1] < 0.8 * fast[0]


def test_rdrop_draws_dropout_twice(toy: PreparedData, settings: dict[str, Any]) -> None:
    """Without dropout both passes are the same, and so is the loss; with dropout they are not."""
    rdrop = {**settings, "optimizer": {**settings.get("optimizer", {}), "rdrop": 5.0}}
    assert losses(toy, rdrop, "window", 3, "cpu") == pytest.approx(
        losses(toy, settings, "window", 3, "cpu"), rel=1e-5
    )
    dropped = [losses(toy, chosen, "window", 3, "cpu", dropout=0.3) for chosen in (rdrop, settings)]
    assert dropped[0] != pytest.approx(dropped[1], rel=1e-5)


def test_word_dropout_hides_words_and_no_symbols() -> None:
    torch.manual_seed(1)
    ids = torch.cat([torch.arange(30), torch.arange(30, 20_030)])
    masked = word_dropout(ids, 0.2, n_symbols=30)
    assert torch.equal(masked[:30], ids[:30])
    hidden = masked != ids
    assert masked[hidden].unique().tolist() == [UNK_ID]
    assert hidden.float().mean().item() == pytest.approx(0.2, abs=0.01)
    assert not torch.equal(masked, word_dropout(ids, 0.2, n_symbols=30))
    assert torch.equal(word_dropout(ids, 0.0, n_symbols=30), ids)


def test_word_dropout_is_drawn_anew_for_both_passes_of_rdrop(toy: PreparedData, settings: dict[str, Any]) -> None:
    """Without other dropout, passes differ by the hidden words alone."""
    several = [{"word_dropout": 0.2}, {"word_dropout": 0.2, "rdrop": 5.0}, {}]
    found = [
        losses(toy, {**settings, "optimizer": {**settings.get("optimizer", {}), **more}}, "window", 3, "cpu")
        for more in several
    ]
    assert found[0] != pytest.approx(found[2], rel=1e-5)
    assert found[0] != pytest.approx(found[1], rel=1e-5)


@pytest.mark.gpu
def test_word_dropout_differs_from_update_to_update_in_a_graph(toy: PreparedData, settings: dict[str, Any]) -> None:
    settings = {**settings, "optimizer": {"lr": 1e-9, "word_dropout": 0.2}}
    first, again = (losses(toy, settings, "window", 60, "cuda", graphs="on") for _ in range(2))
    assert first == again
    assert len(set(first)) == len(first)


@pytest.mark.gpu
def test_dropout_differs_from_update_to_update_in_a_graph(toy: PreparedData, settings: dict[str, Any]) -> None:
    """And does not depend on what ran before: the same seed and update give the same loss."""
    settings = {**settings, "optimizer": {"lr": 1e-9}}
    first, again = (losses(toy, settings, "window", 60, "cuda", dropout=0.3, graphs="on") for _ in range(2))
    assert first == again
    assert len(set(first)) == len(first)


@pytest.mark.slow
def test_padded_shapes_train_like_plain_ones(toy: PreparedData, settings: dict[str, Any]) -> None:
    """What graphs need, tested where there is no GPU: the engine on padded inputs."""
    plain = losses(toy, settings, "window", 6, "cpu")
    unit = Engine.__init__

    def padded(self: Engine, *args: Any) -> None:
        unit(self, *args)
        self.pad_multiple = 128

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "__init__", padded)
        fixed = losses(toy, settings, "window", 6, "cpu")
    assert fixed == pytest.approx(plain, rel=1e-5)
    assert np.isfinite(fixed).all()


def test_graphs_are_refused_where_they_cannot_be(toy: PreparedData, settings: dict[str, Any]) -> None:
    with pytest.raises(FensterError, match="graphs: on needs one process on a GPU"):
        losses(toy, settings, "window", 1, "cpu", graphs="on")
    assert len(losses(toy, settings, "window", 1, "cpu", checkpointing="layers")) == 1
