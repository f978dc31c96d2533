import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fenster.data.context import (
    AdjacentContext,
    ContextConfig,
    DocumentContext,
    SentenceContext,
    estimated_lengths,
    split_points,
)
from fenster.data.dataset import PreparedData
from fenster.data.examples import ExampleIndex, concatenate
from fenster.data.tokenizer import BOD_ID, EOS_ID, SEP_ID
from tests.helpers.data import make_split

TWO = make_split([[(2, 3), (1, 2), (4, 1)], [(3, 3)]])


def test_join_puts_separators_between_and_eos_at_the_end() -> None:
    joined = concatenate([[10, 11], [12]])
    assert joined.ids.tolist() == [10, 11, SEP_ID, 12, EOS_ID]
    assert joined.sentence.tolist() == [0, 0, 0, 1, 1]
    assert joined.starts.tolist() == [0, 3, 5]


def test_join_with_bod_counts_it_as_a_sentence() -> None:
    joined = concatenate([[10]], bod=True)
    assert joined.ids.tolist() == [BOD_ID, SEP_ID, 10, EOS_ID]
    assert joined.sentence.tolist() == [0, 0, 1, 1]
    assert joined.starts.tolist() == [0, 2, 4]


def test_an_empty_sentence_is_its_end_symbol() -> None:
    assert concatenate([[], [5], []]).ids.tolist() == [SEP_ID, 5, SEP_ID, EOS_ID]


def test_sentence_context() -> None:
    index = ExampleIndex.build(TWO, SentenceContext())
    assert len(index) == 4
    assert [index.example(n).source.ids.tolist() for n in range(2)] == [[10, 11, EOS_ID], [12, EOS_ID]]
    assert index.example(3).name == "d1"
    assert index.source_lengths.tolist() == [3, 2, 5, 4]


def test_adjacent_context_as_the_paper_counts() -> None:
    """k predecessors; `<bod>` is sentence 0, so it appears while n <= k and never reaches into a document."""
    index = ExampleIndex.build(TWO, AdjacentContext(k=2))
    examples = [index.example(n) for n in range(4)]
    assert [e.bod for e in examples] == [True, True, False, True]
    assert [e.source.sentences for e in examples] == [2, 3, 3, 2]
    assert examples[0].source.ids.tolist() == [BOD_ID, SEP_ID, 10, 11, EOS_ID]
    assert examples[1].target.ids.tolist() == [BOD_ID, SEP_ID, 10, 11, 12, SEP_ID, 13, 14, EOS_ID]
    assert examples[2].source.ids.tolist() == [10, 11, SEP_ID, 12, SEP_ID, 13, 14, 15, 16, EOS_ID]
    assert [e.first for e in examples] == [0, 0, 0, 0]


def test_adjacent_context_moves_on() -> None:
    index = ExampleIndex.build(make_split([[(1, 1)] * 5]), AdjacentContext(k=1))
    assert [(index.example(n).first, index.example(n).bod) for n in range(5)] == [
        (0, True), (0, False), (1, False), (2, False), (3, False),
    ]  # fmt: skip


def test_document_context_whole_and_split() -> None:
    whole = ExampleIndex.build(TWO, DocumentContext(limit=None))
    assert len(whole) == 2
    assert whole.target_lengths.tolist() == [9, 4]
    parts = ExampleIndex.build(TWO, DocumentContext(limit=6, bod=True))
    assert [(e.name, e.first, e.bod) for e in map(parts.example, range(len(parts)))] == [
        ("d0", 0, True),
        ("d0", 1, False),
        ("d1", 0, True),
    ]


def test_split_of_1500_is_two_halves() -> None:
    assert split_points(np.full(60, 25), 1000).tolist() == [0, 30, 60]


@pytest.mark.parametrize(
    ("lengths", "points"),
    [
        ([5000, 1, 1, 1, 1], [0, 1, 5]),
        ([1, 1, 5000, 1, 1], [0, 2, 3, 5]),
        ([1, 1, 5000], [0, 2, 3]),
        ([5000, 5000, 1], [0, 1, 2, 3]),
        ([5000, *[25] * 60], [0, 1, 31, 61]),
        ([5000], [0, 1]),
    ],
)
def test_a_sentence_above_the_limit_does_not_shred_the_rest(lengths: list[int], points: list[int]) -> None:
    assert split_points(np.array(lengths), 1000).tolist() == points


@given(st.lists(st.integers(0, 60), min_size=1, max_size=80), st.floats(0.5, 1.0))
def test_estimated_lengths_add_up(sizes: list[int], ratio: float) -> None:
    """With ratios of at most 1 no estimate is raised to 1."""
    lengths = estimated_lengths([np.zeros(size, np.uint16) for size in sizes], ratio)
    assert lengths.min() >= 1 and abs(lengths.sum() - (sum(sizes) + len(sizes)) / ratio) <= 0.5


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=80),
    st.one_of(st.none(), st.integers(1, 200)),
)
def test_parts_cover_the_document_and_keep_the_limit(lengths: list[int], limit: int | None) -> None:
    points = split_points(np.array(lengths), limit)
    assert points[0] == 0
    assert points[-1] == len(lengths)
    assert (np.diff(points) > 0).all()
    if limit is None:
        assert len(points) == 2
        return
    sizes = np.add.reduceat(lengths, points[:-1])
    for size, sentences in zip(sizes, np.diff(points), strict=True):
        assert size <= limit or sentences == 1
    if sum(lengths) <= limit:
        assert len(points) == 2


@pytest.mark.parametrize("context", [SentenceContext(), DocumentContext(limit=100), DocumentContext(limit=None)])
def test_parts_restore_the_corpus(toy: PreparedData, context: ContextConfig) -> None:
    """Joining all examples again gives every sentence once, in order."""
    split = toy.split("train")
    index = ExampleIndex.build(split, context)
    for side, whole in (("source", split.shards[0].source), ("target", split.shards[0].target)):
        ids = np.concatenate([getattr(index.example(n), side).ids for n in range(len(index))])
        assert ids[(ids != SEP_ID) & (ids != EOS_ID)].tolist() == whole.ids.tolist()


def test_lengths_are_those_of_the_examples(toy: PreparedData) -> None:
    for context in (SentenceContext(), AdjacentContext(k=3), DocumentContext(limit=60)):
        index = ExampleIndex.build(toy.split("valid"), context)
        for n in range(len(index)):
            example = index.example(n)
            assert len(example.source.ids) == index.source_lengths[n]
            assert len(example.target.ids) == index.target_lengths[n]
            assert example.source.sentences == example.target.sentences
            assert example.source.starts[-1] == len(example.source.ids)


def test_an_empty_split_has_no_examples() -> None:
    for context in (SentenceContext(), AdjacentContext(), DocumentContext()):
        assert len(ExampleIndex.build(make_split(), context)) == 0
