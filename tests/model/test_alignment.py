import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fenster.data.tokenizer import BOS_ID, SEP_ID
from fenster.model.attention.alignment import ALIGNMENTS, round_ratio
from fenster.model.attention.alignment.state import AlignmentState
from fenster.model.layout import Layout
from tests.helpers.attention import SENTENCES
from tests.helpers.transformers import target_ids


def centers(name: str, source: list[list[int]], target: list[list[int]], ratio: float = 1.0) -> list[int]:
    found = ALIGNMENTS[name](ratio).whole(Layout.from_sentence_lengths(source), Layout.from_sentence_lengths(target))
    return (found + 1).tolist()  # from 1, as the paper counts


def test_the_worked_example() -> None:
    """SPEC 4.3 item 19: J_n = 4, 3, 5 and target `a b <sep> c d e f <sep> g <eos>`."""
    source, target = [[4, 3, 5]], [[3, 5, 2]]
    assert centers("sent-align", source, target) == [1, 2, 3, 5, 6, 7, 8, 9, 8, 9]
    assert centers("linear", source, target) == [1, 2, 4, 5, 6, 7, 8, 10, 11, 12]


def test_the_others_on_the_same_example() -> None:
    source, target = [[4, 3, 5]], [[3, 5, 2]]
    assert centers("one-to-one", source, target) == list(range(1, 11))
    assert centers("train-ratio", source, target, 1.2) == [1, 2, 4, 5, 6, 7, 8, 10, 11, 12]
    assert centers("sent-linear", source, target) == [1, 3, 4, 5, 5, 6, 6, 7, 10, 12]


def test_clamping_when_the_target_is_twice_as_long() -> None:
    for name in ALIGNMENTS:
        found = centers(name, [[3]], [[6]])
        assert min(found) >= 1
        assert max(found) <= 3
    assert centers("one-to-one", [[3]], [[6]]) == [1, 2, 3, 3, 3, 3]
    assert centers("sent-align", [[3]], [[6]]) == [1, 2, 3, 3, 3, 3]
    assert centers("linear", [[1]], [[6]])[0] == 1  # round(1/6) would be 0


def test_surplus_target_sentences_look_at_the_end() -> None:
    source = Layout.from_sentence_lengths([[2, 3]])
    for name in ("sent-align", "sent-linear"):
        steps = AlignmentState.begin(ALIGNMENTS[name](1.0), source, torch.tensor([0]))
        found = []
        for token in (BOS_ID, SEP_ID, SEP_ID, 9, SEP_ID):
            steps, center = steps.advance(torch.tensor([token]))
            found.append(int(center) + 1)
        assert found[2:] == [5, 5, 5]


def test_sequences_of_unequal_length_do_not_disturb_each_other() -> None:
    source, target = [[4, 3, 5], [2], [7, 1]], [[3, 5, 2], [9], [1, 1]]
    for name in ALIGNMENTS:
        together = centers(name, source, target, 1.1)
        apart = [c for s, t in zip(source, target, strict=True) for c in centers(name, [s], [t], 1.1)]
        assert together == apart


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=4),
    st.sampled_from(list(ALIGNMENTS)),
    st.floats(0.4, 2.5),
)
def test_step_by_step_equals_whole(pairs: list[tuple[list[int], list[int]]], name: str, ratio: float) -> None:
    """With lengths known where an alignment uses them; reordered at every step as a beam does."""
    source, target = (
        Layout.from_sentence_lengths([s for s, _ in pairs]),
        Layout.from_sentence_lengths([t for _, t in pairs]),
    )
    alignment = ALIGNMENTS[name](ratio)
    whole = alignment.whole(source, target)
    assert (whole >= 0).all()
    assert (whole < source.lengths[target.sequence_id]).all()
    tokens = target_ids([t for _, t in pairs])
    order = torch.arange(len(pairs))
    steps = AlignmentState.begin(alignment, source, order, target)
    previous = torch.full((len(pairs),), BOS_ID)
    for i in range(target.longest):
        steps, found = steps.advance(previous)
        for row, sequence in enumerate(order.tolist()):
            if i < len(tokens[sequence]):
                assert found[row] == whole[target.offsets[sequence] + i]
        flip = torch.arange(len(pairs) - 1, -1, -1)
        steps, order = steps.reorder(flip), order[flip]
        previous = torch.tensor([(tokens[s] + [9] * 99)[i] for s in order.tolist()])


def test_sent_linear_in_decoding_guesses_the_length_from_the_ratio() -> None:
    source = Layout.from_sentence_lengths([[10, 4]])
    steps = AlignmentState.begin(
        ALIGNMENTS["sent-linear"](2.0), source, torch.tensor([0])
    )  # expects 5 and 2 target tokens
    found = []
    for token in (BOS_ID, 9, 9, 9, 9, 9, SEP_ID, 9, 9):
        steps, center = steps.advance(torch.tensor([token]))
        found.append(int(center) + 1)
    assert found == [2, 4, 6, 8, 10, 10, 12, 14, 14]


def test_several_targets_of_one_source_have_their_own_lengths() -> None:
    source, target = Layout.from_sentence_lengths([[12]]), Layout.from_sentence_lengths([[4], [12]])
    steps = AlignmentState.begin(ALIGNMENTS["linear"](), source, torch.tensor([0, 0]), target, torch.tensor([0, 1]))
    found = []
    for _ in range(4):
        steps, center = steps.advance(torch.tensor([9, 9]))
        found.append(center.tolist())
    assert found == [[2, 0], [5, 1], [8, 2], [11, 3]]


def test_linear_cannot_decode() -> None:
    with pytest.raises(ValueError, match="cannot be used in decoding"):
        AlignmentState.begin(ALIGNMENTS["linear"](), Layout.from_sentence_lengths([[3]]), torch.tensor([0]))


def test_rounding_is_half_up() -> None:
    assert round_ratio(torch.tensor([1, 3, 5, 7]), 2).tolist() == [1, 2, 3, 4]
    assert round_ratio(torch.tensor([1, 2]), 3).tolist() == [0, 1]
