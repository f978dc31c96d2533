"""Shards in portions: every example once, what is held, and where a run resumes."""

import gc
import weakref
from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fenster.data.context import DocumentContext, SentenceContext
from fenster.data.dataset import PreparedData, Split
from fenster.data.loader import DataPosition, Loader
from fenster.data.portions import Portions
from fenster.data.sampler import BatchConfig, Sampler
from fenster.errors import ConfigError, FensterError
from tests.helpers.data import make_split

SHARDS = [[[(length, length) for length in range(1, 4 + shard)]] * 2 for shard in range(5)]  # shard 0 is the shortest


def names(batches: Any, count: int) -> list[tuple[int, ...]]:
    return [tuple(step.batch.source.ids) for step in islice(batches, count)]


@given(st.integers(1, 7), st.integers(0, 3))
def test_an_epoch_has_every_example_once(shards: int, epoch: int) -> None:
    portions = Portions(make_split(*SHARDS), SentenceContext(), BatchConfig(tokens=9, shards=shards))
    assert portions.portions == -(-5 // min(shards, 5))
    dealt = [portions.shards(epoch, portion).tolist() for portion in range(portions.portions)]
    assert sorted(number for portion in dealt for number in portion) == list(range(5)) and all(
        len(portion) <= shards for portion in dealt
    )
    seen = Counter[int]()
    for portion in range(portions.portions):
        plan = portions.plan(epoch, portion)
        assert [len(shard.names) for shard in plan.index.shards] == [2] * len(dealt[portion])
        seen.update((plan.index.target_lengths[plan.order]).tolist())
    everything = Sampler(
        Portions(make_split(*SHARDS), SentenceContext(), BatchConfig()).sampler(0, 0).index, BatchConfig()
    )
    assert seen == Counter(everything.index.target_lengths.tolist())


def test_epochs_deal_differently_and_without_the_setting_nothing_changes() -> None:
    portions = Portions(make_split(*SHARDS), SentenceContext(), BatchConfig(tokens=9, shards=2))
    assert len({tuple(portions.shards(epoch, 0)) for epoch in range(8)}) > 1
    whole = Portions(make_split(*SHARDS), SentenceContext(), BatchConfig(tokens=9))
    assert whole.portions == 1
    sampler = whole.sampler(0, 0)
    assert np.array_equal(whole.plan(3).order, sampler.plan(3).order)
    # The order that runs of earlier versions had.
    before = np.random.default_rng([sampler.config.seed, 3]).permutation(len(sampler.index))
    assert np.array_equal(sampler.mixture.draw(np.random.default_rng([sampler.config.seed, 3, 0])), before)


def test_only_one_portion_is_held(sharded: PreparedData) -> None:
    split = sharded.split("train")
    portions = Portions(split, DocumentContext(limit=60), BatchConfig(tokens=400, shards=1))
    index = weakref.ref(portions.sampler(0, 0).index)
    assert len(portions.sampler(0, 0).index.shards) == 1
    portions.plan(0, 1)
    gc.collect()
    assert index() is None


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("stop", [0, 5, 23, 61])
def test_resuming_and_sharing_give_what_would_have_come(sharded: PreparedData, stop: int, ranks: int) -> None:
    def portions() -> Portions:
        return Portions(sharded.split("train"), SentenceContext(), BatchConfig(tokens=1000, shards=2))

    straight = names(Loader(portions()).steps(), 90)
    position = DataPosition()
    for step in islice(Loader(portions(), rank=0, ranks=ranks).steps(), stop // ranks):
        position = step.after
    rest = [
        names(Loader(portions(), rank=rank, ranks=ranks).steps(position), (90 - stop) // ranks)
        for rank in range(ranks)
    ]
    dealt = [one for together in zip(*rest, strict=True) for one in together]
    begin = stop // ranks * ranks
    assert dealt == straight[begin : begin + len(dealt)] and len(set(straight)) > 20


def test_a_corpus_that_is_not_drawn_leaves_its_portions_empty() -> None:
    made = make_split(*SHARDS)
    marked = [
        replace(shard, corpora=np.full(2, number % 2, np.uint16), groups=np.arange(2) + 2 * number)
        for number, shard in enumerate(made.shards)
    ]
    split = Split("train", made.record, marked)
    portions = Portions(split, SentenceContext(), BatchConfig(tokens=9, shards=1), weights=[1.0, 0.0])
    sizes = {int(portions.shards(0, portion)[0]): len(portions.plan(0, portion)) for portion in range(5)}
    assert {shard for shard, size in sizes.items() if size == 0} == {1, 3}
    batches = list(islice(Loader(portions).steps(), 3 * sum(sizes.values())))
    assert batches[-1].after.epoch in (2, 3)


def test_the_share_of_an_epoch_grows_with_its_portions(sharded: PreparedData) -> None:
    portions = Portions(sharded.split("train"), SentenceContext(), BatchConfig(tokens=300, shards=2))
    shares = [portions.epochs(step.after) for step in islice(Loader(portions).steps(), 2 * portions.batches)]
    assert shares == sorted(shares) and shares[0] > 0 and shares[-1] > 1.5


def test_too_many_shards_for_one_index() -> None:
    one = make_split([[(1, 1)]])
    with pytest.raises(ConfigError, match=r"65,536 shards"):
        Portions(Split("train", one.record, [one.shards[0]] * 65_536), SentenceContext(), BatchConfig())


def test_weights_that_draw_nothing_are_an_error_with_portions_too() -> None:
    made = make_split(*SHARDS)
    marked = [replace(shard, corpora=np.zeros(2, np.uint16), groups=np.arange(2)) for shard in made.shards]
    split = Split("train", made.record, marked)
    portions = Portions(split, SentenceContext(), BatchConfig(tokens=9, shards=1), weights=[0.0, 1.0])
    with pytest.raises(FensterError, match="has no examples"):
        next(Loader(portions).steps())
