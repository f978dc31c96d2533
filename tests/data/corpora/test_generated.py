from collections import Counter, defaultdict
from collections.abc import Iterable

import pytest

from fenster.data.corpora.synthetic import CHANCE, GeneratedDocument, Kind, generate


def best_sentence_guess(documents: Iterable[GeneratedDocument]) -> dict[str, float]:
    """The accuracy, by kind, of the best rule that sees only the source sentence.

    Counted on the documents themselves: for each source sentence always answer its commonest form. This is an
    upper bound for every sentence-level system on them, and slightly above 1/2 and 1/3 on finite samples.
    """
    forms: dict[tuple[Kind, str], Counter[str]] = defaultdict(Counter)
    for document in documents:
        for decision in document.decisions:
            forms[decision.kind, document.pair.source.segments[decision.segment].text][decision.expected] += 1
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for (kind, _), counts in forms.items():
        right[kind] += counts.most_common(1)[0][1]
        total[kind] += counts.total()
    return {kind: right[kind] / total[kind] for kind in sorted(total)}


def test_the_same_seed_gives_the_same_documents() -> None:
    first, again, other = (list(generate(20, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_every_choice_is_right_in_the_reference_and_decided_earlier() -> None:
    for document in generate(300, seed=3):
        for choice in document.decisions:
            assert choice.right(document.pair.target.segments[choice.segment].text)
            assert 0 <= choice.decided_by < choice.segment
            assert choice.expected in choice.options


def test_a_wrong_form_is_not_right() -> None:
    for document in generate(50, seed=4):
        for choice in document.decisions:
            text = document.pair.target.segments[choice.segment].text.lower()
            for option in set(choice.options) - {choice.expected}:
                assert not choice.right(text.replace(choice.expected, option))


@pytest.mark.parametrize("gap", [1, 3, 7])
def test_distance_is_what_was_asked_for(gap: int) -> None:
    documents = list(generate(100, seed=5, distance=(gap, gap), echo=0))
    assert {choice.distance for d in documents for choice in d.decisions} == {gap}


@pytest.mark.slow
def test_without_context_nobody_can_know_and_with_it_everybody_can() -> None:
    documents = list(generate(6000, seed=6))
    guess = best_sentence_guess(documents)
    # Counting on a finite sample lifts the bound a little.
    for kind, chance in CHANCE.items():
        assert chance <= guess[kind] < chance + 0.08

    # With the deciding sentence the answer is a function: no two documents contradict each other.
    seen: dict[tuple[str, str, str], str] = {}
    for document in documents:
        source = document.pair.source.texts
        for choice in document.decisions:
            key = (choice.kind, source[choice.decided_by], source[choice.segment])
            assert seen.setdefault(key, choice.expected) == choice.expected


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="distance"):
        next(generate(1, distance=(3, 2)))
