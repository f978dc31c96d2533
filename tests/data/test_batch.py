import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fenster.data.batch import Batch, PackedSide
from fenster.data.context import AdjacentContext, ContextConfig, DocumentContext, SentenceContext
from fenster.data.examples import ExampleIndex
from tests.helpers.data import make_split

LENGTHS = st.tuples(st.integers(0, 5), st.integers(0, 5))
SPLITS = st.lists(
    st.lists(st.lists(LENGTHS, min_size=1, max_size=5), min_size=1, max_size=4), min_size=1, max_size=3
).map(lambda shards: make_split(*shards))
CONTEXTS = st.sampled_from(
    [SentenceContext(), AdjacentContext(k=1), AdjacentContext(k=3), DocumentContext(limit=7, bod=True)]
)


def same(a: PackedSide, b: PackedSide) -> bool:
    fields = ("ids", "offsets", "sentence", "starts", "start_offsets")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in fields)


@given(SPLITS, CONTEXTS, st.randoms(use_true_random=False))
def test_reading_at_once_equals_packing_one_by_one(split, context: ContextConfig, random) -> None:  # type: ignore[no-untyped-def]
    index = ExampleIndex.build(split, context)
    numbers = np.array(random.sample(range(len(index)), random.randint(1, len(index))))
    slow = Batch.pack([index.example(int(n)) for n in numbers], numbers)
    fast = Batch.read(index, numbers)
    assert same(fast.source, slow.source)
    assert same(fast.target, slow.target)
    assert len(fast) == len(numbers)


def test_layout() -> None:
    index = ExampleIndex.build(make_split([[(2, 1), (1, 1)], [(1, 2)]]), DocumentContext(limit=None))
    batch = Batch.read(index, np.array([1, 0]))
    assert batch.source.offsets.tolist() == [0, 2, 7]
    assert batch.source.sentence.tolist() == [0, 0, 0, 0, 0, 1, 1]
    assert batch.source.starts.tolist() == [0, 2, 0, 3, 5]
    assert batch.source.start_offsets.tolist() == [0, 2, 5]
    assert (batch.source.tokens, batch.source.longest) == (7, 5)


@pytest.mark.parametrize("field", ["ids", "offsets", "sentence", "starts"])
def test_arrays_are_int32(field: str) -> None:
    index = ExampleIndex.build(make_split([[(2, 1)]]), AdjacentContext(k=1))
    assert getattr(Batch.read(index, np.array([0])).source, field).dtype == np.int32
