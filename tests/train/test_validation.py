"""Perplexities of different systems are over the same tokens."""

import math

import numpy as np
import pytest
import torch

from fenster.data.context import AdjacentContext, ContextConfig, DocumentContext, SentenceContext
from fenster.data.dataset import PreparedData
from fenster.model.config import preset
from fenster.model.layout import Layout
from fenster.model.transformer import Transformer
from fenster.train.distributed import World
from fenster.train.update import autocasting
from fenster.train.validation import Validator

ALONE = World(0, 1, torch.device("cpu"))
PLAIN = autocasting("float32", torch.device("cpu"))


@pytest.mark.parametrize(
    "context",
    [SentenceContext(), AdjacentContext(k=2), DocumentContext(limit=60), DocumentContext(limit=60, bod=True)],
)
def test_every_system_is_measured_on_the_same_tokens(toy: PreparedData, context: ContextConfig) -> None:
    model = Transformer(preset("tiny"), toy.manifest.vocab_size)
    with torch.no_grad():
        model.embedding.weight.zero_()  # every piece is equally likely
    valid = toy.split("valid")
    result = Validator(valid, context, 500, ALONE).run(model, PLAIN)
    assert result.sentences == valid.record.sentences
    assert result.tokens == valid.record.target_tokens
    assert result.perplexity == pytest.approx(toy.manifest.vocab_size, rel=1e-5)
    assert result.perplexity_inside == pytest.approx(toy.manifest.vocab_size, rel=1e-5)
    assert model.training


def test_sentence_perplexity_by_hand(toy: PreparedData) -> None:
    torch.manual_seed(0)
    model = Transformer(preset("tiny"), toy.manifest.vocab_size).eval()
    valid = toy.split("valid")
    inside, ends = [], []
    shard = valid.shards[0]
    for number in range(shard.document_starts[-1]):
        source, target = (
            np.append(side.sentence(number), 3).astype(np.int64) for side in (shard.source, shard.target)
        )
        sizes = (Layout.from_sentence_lengths([[len(source)]]), Layout.from_sentence_lengths([[len(target)]]))
        with torch.no_grad():
            hidden = model(torch.from_numpy(source), torch.from_numpy(target), *sizes)
            logs = model.logits(hidden).log_softmax(-1)[torch.arange(len(target)), torch.from_numpy(target)]
        inside += logs[:-1].tolist()
        ends.append(float(logs[-1]))
    result = Validator(valid, SentenceContext(), 500, ALONE).run(model, PLAIN)
    assert result.perplexity_inside == pytest.approx(math.exp(-np.mean(inside)), rel=1e-4)
    assert result.perplexity == pytest.approx(math.exp(-np.mean(inside + ends)), rel=1e-4)


def test_a_probe_sees_sentences_only_themselves(toy: PreparedData) -> None:
    model = Transformer(preset("tiny"), toy.manifest.vocab_size)
    probe = Validator(toy.split("valid"), SentenceContext(), 500, ALONE).probe(model, PLAIN, 100)
    assert probe.cross_share() == pytest.approx((1.0, 1.0))
    documents = Validator(toy.split("valid"), DocumentContext(), 500, ALONE).probe(model, PLAIN, 100)
    assert documents.cross_share()[0] < 0.5
