import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fenster.data.context import DocumentContext, SentenceContext
from fenster.data.dataset import PreparedData
from fenster.data.examples import ExampleIndex
from fenster.data.loader import DataPosition, Loader, prefetch
from fenster.data.sampler import BatchConfig, Sampler
from fenster.errors import FensterError
from tests.helpers.data import make_split
from tests.helpers.waiting import DEADLINE


@pytest.fixture(scope="module")
def sampler(toy: PreparedData) -> Sampler:
    index = ExampleIndex.build(toy.split("train"), SentenceContext())
    return Sampler(index, BatchConfig(tokens=1000, bucket=4))


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=60),
    st.integers(1, 80),
    st.integers(1, 5),
    st.booleans(),
)
def test_every_example_once_and_budgets_kept(
    lengths: list[tuple[int, int]], tokens: int, bucket: int, shuffle: bool
) -> None:
    index = ExampleIndex.build(make_split([lengths]), SentenceContext())
    sampler = Sampler(index, BatchConfig(tokens=tokens, bucket=bucket), shuffle=shuffle)
    plan = sampler.plan(3)
    assert sorted(plan.order.tolist()) == list(range(len(index)))
    big = 0
    for number in range(len(plan)):
        batch = plan.batch(number)
        assert len(batch)
        over = max(index.source_lengths[batch].sum(), index.target_lengths[batch].sum()) > tokens
        assert not over or len(batch) == 1
        big += over
    assert big == sampler.oversize


def test_plans_follow_from_seed_and_epoch(sampler: Sampler) -> None:
    again = Sampler(sampler.index, sampler.config)
    assert np.array_equal(sampler.plan(2).order, again.plan(2).order)
    assert not np.array_equal(sampler.plan(2).order, sampler.plan(3).order)
    other = Sampler(sampler.index, BatchConfig(tokens=1000, bucket=4, seed=9))
    assert not np.array_equal(sampler.plan(2).order, other.plan(2).order)


@pytest.mark.parametrize("ranks", [2, 3, 50])
def test_ranks_together_see_what_one_would(sampler: Sampler, ranks: int) -> None:
    """Over the end of an epoch and with more ranks than batches: nothing is left out, nothing comes twice."""
    rounds = 3 + 60 // ranks
    alone = list(islice(Loader(sampler).steps(), rounds * ranks))
    shares = [list(islice(Loader(sampler, rank=rank, ranks=ranks).steps(), rounds)) for rank in range(ranks)]
    dealt = [step.batch.numbers.tolist() for group in zip(*shares, strict=True) for step in group]
    assert dealt == [step.batch.numbers.tolist() for step in alone]
    for share in shares:
        assert [step.after for step in share] == [step.after for step in alone[ranks - 1 :: ranks]]


@pytest.mark.parametrize("stop", [0, 1, 7, 40])
def test_resuming_gives_what_would_have_come(sampler: Sampler, stop: int) -> None:
    """Across an epoch boundary too: the toy plan has about 20 batches."""
    assert 7 < len(sampler.plan(0)) < 30
    position, numbers = DataPosition(), []
    straight = [step.batch.numbers.tolist() for step in islice(Loader(sampler).stream(), stop + 30)]
    for step in islice(Loader(sampler).stream(), stop):
        position = step.after
        numbers.append(step.batch.numbers.tolist())
    numbers += [step.batch.numbers.tolist() for step in islice(Loader(sampler).stream(position), 30)]
    assert numbers == straight


def test_waste_is_what_padding_would_cost() -> None:
    index = ExampleIndex.build(make_split([[(3, 3), (1, 1)]]), SentenceContext())  # lengths 4 and 2 with <eos>
    waste = Sampler(index, BatchConfig(tokens=8), shuffle=False).plan(0).waste(8)
    assert waste.padded == pytest.approx(1 - 12 / 16)
    assert waste.packed == pytest.approx(1 - 6 / 8)


def test_padding_waste_on_real_text(shared_data: Path, tmp_path: Path) -> None:
    from fenster.config import check
    from fenster.data.prepare import prepare
    from fenster.data.prepare.config import PrepareConfig

    corpus = str(shared_data / "europarl" / "en-de.dev.tsv.xz")
    settings = {
        "output": tmp_path / "p",
        "splits": {"train": corpus},
        "tokenizer": {"vocab_size": 4000},
        "workers": 1,
    }
    split = prepare(check(settings, PrepareConfig)).prepared.split("train")
    for context, tokens, most in ((SentenceContext(), 2000, 0.10), (DocumentContext(), 8000, 0.20)):
        index = ExampleIndex.build(split, context)
        assert Sampler(index, BatchConfig(tokens=tokens)).plan(0).waste(tokens).padded < most


def test_no_example_no_sampler() -> None:
    with pytest.raises(FensterError, match="no example"):
        Sampler(ExampleIndex.build(make_split(), SentenceContext()), BatchConfig())


def test_prefetch_hands_errors_over(sampler: Sampler) -> None:
    def broken():  # type: ignore[no-untyped-def]
        yield from islice(Loader(sampler).epoch(0), 2)
        raise OSError("disk gone")

    steps = prefetch(broken(), 4)
    next(steps)
    next(steps)
    with pytest.raises(OSError, match="disk gone"):
        next(steps)


def test_prefetch_thread_ends_with_its_consumer(sampler: Sampler) -> None:
    import threading

    steps = Loader(sampler, ahead=2).stream()
    next(steps)
    steps.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "fenster-prefetch"]


def test_a_program_that_leaves_a_stream_open_ends(toy: PreparedData) -> None:
    code = (
        "import sys; from fenster.data.dataset import PreparedData; from fenster.data.loader import Loader\n"
        "from fenster.data.context import *; from fenster.data.examples import *\n"
        "from fenster.data.sampler import *\n"
        "index = ExampleIndex.build(PreparedData(sys.argv[1]).split('train'), SentenceContext())\n"
        "for step in Loader(Sampler(index, BatchConfig(tokens=500)), ahead=1).stream():\n    break\n"
    )
    subprocess.run([sys.executable, "-c", code, str(toy.folder)], check=True, timeout=DEADLINE)
