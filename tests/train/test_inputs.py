"""Padding to fixed shapes changes no number of any real token."""

from typing import Any

import numpy as np
import pytest
import torch

from fenster.data.batch import Batch
from fenster.data.context import AdjacentContext, DocumentContext, SentenceContext
from fenster.data.dataset import PreparedData
from fenster.data.examples import ExampleIndex
from fenster.data.sampler import BatchConfig, Sampler
from fenster.data.tokenizer import PAD_ID
from fenster.model.config import preset
from fenster.model.loss import smoothed_loss
from fenster.model.transformer import Transformer
from fenster.train.inputs import Inputs

VARIANTS: dict[str, dict[str, Any]] = {
    "full": {"attention": {"kind": "full"}},
    "lst": {"attention": {"kind": "lst"}},
    "window": {"attention": {"kind": "window", "window": 4}, "positions": "relative"},
    "sent-linear": {"attention": {"kind": "window", "window": 4, "alignment": "sent-linear"}},
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("unit", [32, 128])
def test_padding_changes_nothing(toy: PreparedData, variant: str, unit: int) -> None:
    torch.manual_seed(0)
    model = Transformer(preset("tiny", **VARIANTS[variant]), toy.manifest.vocab_size).double().eval()
    index = ExampleIndex.build(toy.split("train"), AdjacentContext(k=2))
    batch = Batch.read(index, np.array([3, 77, 4, 200]))
    found = []
    for inputs in (Inputs.of(batch), Inputs.of(batch, unit)):
        hidden = model(inputs.source_ids, inputs.target_ids, inputs.source, inputs.target)
        loss = smoothed_loss(hidden, model.embedding.weight, inputs.target_ids, 0.1)
        gradients = torch.autograd.grad(loss.smoothed, list(model.parameters()))
        found.append((loss.smoothed, loss.nll, hidden[: batch.target.tokens], *gradients))
    for plain, padded in zip(*found, strict=True):
        torch.testing.assert_close(plain, padded, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("context", [SentenceContext(), AdjacentContext(), DocumentContext()])
def test_few_shapes_occur(toy: PreparedData, context: object) -> None:
    sampler = Sampler(ExampleIndex.build(toy.split("train"), context), BatchConfig(tokens=1024))  # type: ignore[arg-type]
    shapes = set()
    for epoch in range(3):
        plan = sampler.plan(epoch)
        for number in range(len(plan)):
            batch = Batch.read(sampler.index, plan.batch(number))
            inputs = Inputs.of(batch, 64)
            shapes.add(inputs.shape)
            assert inputs.source.tokens % 64 == inputs.target.tokens % 64 == 0
            assert inputs.tokens == batch.target.tokens == int((inputs.target_ids != PAD_ID).sum())
            for side in (inputs.source, inputs.target):
                assert side.sequences == inputs.source.sequences
                assert int(side.lengths.max()) <= side.longest
                assert int(side.starts.diff().max()) <= side.longest_sentence <= side.longest
                assert int(side.offsets[-1]) == side.tokens
    assert len(shapes) <= 40


def test_padding_has_no_longer_sentences_than_a_batch_may_have(
    monkeypatch: pytest.MonkeyPatch, toy: PreparedData
) -> None:
    monkeypatch.setattr("fenster.train.inputs._SENTENCE", 8)
    index = ExampleIndex.build(toy.split("train"), DocumentContext())
    batch = Batch.read(index, np.array([0, 5]))
    inputs = Inputs.of(batch, 512)
    for side, real in ((inputs.source, batch.source), (inputs.target, batch.target)):
        assert real.longest_sentence <= side.longest_sentence < side.longest
        lengths = side.starts.diff()
        assert int(lengths.max()) <= side.longest_sentence
        assert int(lengths.sum()) == side.tokens  # every token is in a sentence
        inner = side.position - side.starts[side.sequence_id, side.sentence]
        assert bool((inner >= 0).all()) and bool((inner < lengths[side.sequence_id, side.sentence]).all())


def test_copying_over_inputs_of_the_same_shape(toy: PreparedData) -> None:
    index = ExampleIndex.build(toy.split("train"), SentenceContext())
    first, second = (Inputs.of(Batch.read(index, np.array(numbers)), 64) for numbers in ([1, 2], [3, 4]))
    assert first.shape == second.shape
    second.copy_into(first)
    assert all(torch.equal(a, b) for a, b in zip(first.tensors(), second.tensors(), strict=True))
