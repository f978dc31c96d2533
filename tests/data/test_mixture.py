"""Corpora drawn by weight, and one version of each document per epoch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fenster.data.context import DocumentContext, SentenceContext
from fenster.data.dataset import Split
from fenster.data.examples import ExampleIndex
from fenster.data.manifest import CorpusRecord
from fenster.data.mixture import Mixture, mixture_weights
from fenster.data.sampler import BatchConfig, Sampler
from fenster.errors import ConfigError, FensterError
from tests.helpers.data import make_split

SENTENCES = [(3, 3), (4, 4)]


def split(corpora: list[int], groups: list[int]) -> Split:
    """One document of two sentences for each number of a corpus, in two shards."""
    half = len(corpora) // 2
    made = make_split([SENTENCES] * half, [SENTENCES] * (len(corpora) - half))
    parts = ((0, half), (half, len(corpora)))
    shards = tuple(
        replace(shard, corpora=np.array(corpora[a:b], np.uint16), groups=np.array(groups[a:b], np.int64))
        for shard, (a, b) in zip(made.shards, parts, strict=True)
    )
    return replace(made, shards=shards)


def drawn(mixture: Mixture, index: ExampleIndex, epoch: int) -> list[int]:
    """The documents of an epoch's examples."""
    numbers = mixture.draw(np.random.default_rng([1, epoch]))
    return sorted(index.document_number[numbers].tolist())


def test_weights_say_how_often_a_document_is_drawn() -> None:
    index = ExampleIndex.build(split([0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 4, 5]), DocumentContext())
    mixture = Mixture(index, [2.0, 0.0, 1.0])
    assert drawn(mixture, index, 0) == [0, 0, 1, 1, 4, 5]


def test_fractions_are_drawn_that_often_on_average() -> None:
    index = ExampleIndex.build(split([0] * 40, list(range(40))), DocumentContext())
    mixture = Mixture(index, [1.3])
    counts = [len(drawn(mixture, index, epoch)) for epoch in range(50)]
    assert np.mean(counts) == pytest.approx(52, rel=0.03) and len(set(counts)) > 1


def test_an_epoch_draws_one_version_of_each_document() -> None:
    # Documents 0, 2 and 5 are versions of one, across shards; 1 and 4 of another; 3 is single.
    index = ExampleIndex.build(split([0] * 6, [0, 1, 0, 2, 1, 0]), SentenceContext())
    mixture = Mixture(index)
    seen = set()
    for epoch in range(60):
        documents = drawn(mixture, index, epoch)
        assert len(documents) == 6 and len(set(documents)) == 3, "two sentences of three documents"
        assert 3 in documents and len({0, 2, 5}.intersection(documents)) == 1
        seen |= set(documents)
    assert seen == set(range(6)), "every version has its turn"


def test_a_plan_holds_what_was_drawn() -> None:
    index = ExampleIndex.build(split([0, 0, 1, 1], [0, 1, 2, 2]), SentenceContext())
    sampler = Sampler(index, BatchConfig(tokens=8), weights=[2.0, 1.0])
    plan = sampler.plan(3)
    documents = np.bincount(index.document_number[plan.order], minlength=4)
    assert documents[:2].tolist() == [4, 4] and sorted(documents[2:].tolist()) == [0, 2]
    assert np.array_equal(sampler.plan(3).order, plan.order), "it follows from the seed and the epoch"
    everything = Sampler(index, BatchConfig(tokens=8), shuffle=False, weights=[2.0, 1.0]).plan(0).order
    assert sorted(everything.tolist()) == list(range(8)), "validation ignores weights and versions"


def test_without_weights_and_versions_nothing_changes() -> None:
    index = ExampleIndex.build(make_split([SENTENCES] * 5), SentenceContext())
    assert Mixture(index).is_plain
    order = Mixture(index).draw(np.random.default_rng(7))
    assert np.array_equal(order, np.random.default_rng(7).permutation(len(index)))


def test_names_of_corpora_are_checked() -> None:
    corpora = [CorpusRecord(name="a", weight=0.5), CorpusRecord(name="b", weight=2)]
    assert mixture_weights(corpora, {"a": 3}) == [3, 2]
    assert mixture_weights([], {}) is None
    with pytest.raises(ConfigError, match="no training corpus is called 'c'"):
        mixture_weights(corpora, {"c": 1})
    with pytest.raises(ConfigError, match="all weights are 0"):
        mixture_weights(corpora, {"a": 0, "b": 0})


def test_an_empty_epoch_is_an_error() -> None:
    index = ExampleIndex.build(split([0, 0], [0, 1]), DocumentContext())
    with pytest.raises(FensterError, match="has no examples"):
        Sampler(index, BatchConfig(), weights=[0.0]).plan(0)
