"""Beam search: greedy, exhaustive, limits, and searches that do not see each other."""

import itertools

import numpy as np
import pytest
import torch

from fenster.data.dataset import PreparedData
from fenster.data.tokenizer import BOS_ID, EOS_ID, SEP_ID
from fenster.decode.search import LengthConstraints, SearchRequest
from fenster.model.layout import Layout
from fenster.model.model_folder import LoadedModel
from tests.helpers.models import make_loaded, search
from tests.helpers.searches import sentences


def best(loaded: LoadedModel, jobs: list[SearchRequest], beam: int = 4, normalisation: float = 1.0) -> list:
    return search(loaded.model, jobs, beam=beam, normalisation=normalisation)


def test_beam_one_is_greedy(loaded: LoadedModel, toy: PreparedData) -> None:
    job = SearchRequest(sentences(toy, 2), (), LengthConstraints((9, 9)))
    (found,) = best(loaded, [job], beam=1)
    model = loaded.model
    ids = torch.from_numpy(np.concatenate([[*s, SEP_ID] for s in job.source])[:-1].astype(np.int64))
    ids = torch.cat([ids, torch.tensor([EOS_ID])])
    source = Layout.from_sentence_lengths([[len(s) + 1 for s in job.source]])
    state = model.begin(model.encode(ids, source), source, torch.tensor([0]))
    said, previous, separators, inner, total = [], BOS_ID, 0, 0, 0.0
    while True:
        hidden, state = model.step(torch.tensor([previous]), state)
        logs = model.logits(hidden)[0].detach().log_softmax(-1)
        allowed = logs.clone()
        allowed[[0, 1, 2, 5]] = -torch.inf
        allowed[EOS_ID if separators == 0 else SEP_ID] = -torch.inf
        if inner == 9:
            end = SEP_ID if separators == 0 else EOS_ID
            allowed = torch.full_like(logs, -torch.inf)
            allowed[end] = logs[end]
        previous = int(allowed.argmax())
        total += float(logs[previous])
        said.append(previous)
        inner = 0 if previous == SEP_ID else inner + 1
        separators += previous == SEP_ID
        if previous == EOS_ID:
            break
    assert list(found[0].ids) == said
    assert found[0].logprob == pytest.approx(total, rel=1e-4)
    assert found[0].score == pytest.approx(total / len(said), rel=1e-4)


def test_a_wide_beam_finds_the_best_of_all(toy: PreparedData) -> None:
    """With few pieces and short limits every translation can be scored."""
    loaded = make_loaded(toy, "window", sharpness=1.0)
    model = loaded.model
    keep = [3, 4, 6, 7, 8]
    with torch.no_grad():
        mask = torch.ones(len(model.embedding.weight), dtype=torch.bool)
        mask[keep] = False
    logits = model.logits
    model.logits = lambda hidden: logits(hidden).masked_fill(mask, -torch.inf)  # type: ignore[method-assign]
    job = SearchRequest([np.array([6, 7, 8])], (), LengthConstraints((3,), stop_at_separator=True))
    (found,) = best(loaded, [job], beam=200, normalisation=0.7)
    scores = {}
    source = Layout.from_sentence_lengths([[4]])
    memory = model.encode(torch.tensor([6, 7, 8, EOS_ID]), source)
    for length in range(4):
        for body in itertools.product([6, 7, 8], repeat=length):
            for end in (SEP_ID, EOS_ID):
                state = model.begin(memory, source, torch.tensor([0]))
                total, previous = 0.0, BOS_ID
                for token in (*body, end):
                    hidden, state = model.step(torch.tensor([previous]), state)
                    total += float(model.logits(hidden)[0].log_softmax(-1)[token].detach())
                    previous = token
                scores[(*body, end)] = total / (length + 1) ** 0.7
    ranked = sorted(scores, key=lambda ids: -scores[ids])
    assert len(found) == len(ranked)
    assert found[0].ids == ranked[0]
    assert [h.score for h in found] == pytest.approx(sorted(scores.values(), reverse=True), rel=1e-3)


@pytest.mark.slow
def test_searches_do_not_see_each_other(loaded: LoadedModel, toy: PreparedData) -> None:
    jobs = [
        SearchRequest(sentences(toy, 1, 3), (), LengthConstraints((12,), stop_at_separator=True)),
        SearchRequest(sentences(toy, 3, 5), sentences(toy, 2, 9), LengthConstraints((30,), stop_at_separator=True)),
        SearchRequest(sentences(toy, 4, 20), (), LengthConstraints((8, 9, 10, 11))),
        SearchRequest(sentences(toy, 2, 30), (), LengthConstraints((20, 20), forced_count=False)),
        SearchRequest(sentences(toy, 2, 40), (), LengthConstraints((5, 5)), bod=True),
    ]
    together = best(loaded, jobs)
    for job, company in zip(jobs, together, strict=True):
        (alone,) = best(loaded, [job])
        assert [h.ids for h in alone] == [h.ids for h in company]
        assert [h.score for h in alone] == pytest.approx([h.score for h in company], rel=1e-5)
    again = best(loaded, jobs[::-1])[::-1]
    assert [[h.ids for h in found] for found in again] == [[h.ids for h in found] for found in together]


def test_limits(loaded: LoadedModel, toy: PreparedData) -> None:
    forced = SearchRequest(sentences(toy, 3), (), LengthConstraints((3, 4, 5), min_tokens=2))
    for hypothesis in best(loaded, [forced])[0]:
        ids = list(hypothesis.ids)
        assert ids.count(SEP_ID) == 2 and ids[-1] == EOS_ID and ids.count(EOS_ID) == 1
        lengths = np.diff([-1, *(index for index, token in enumerate(ids) if token in (SEP_ID, EOS_ID))]) - 1
        assert all(2 <= length <= most for length, most in zip(lengths, (3, 4, 5), strict=True))
        assert set(hypothesis.capped) >= {
            n for n, (a, b) in enumerate(zip(lengths, (3, 4, 5), strict=True)) if a == b
        }
    one = best(
        loaded,
        [SearchRequest(sentences(toy, 3), sentences(toy, 2, 7), LengthConstraints((6,), stop_at_separator=True))],
    )[0]
    for hypothesis in one:
        assert hypothesis.ids[-1] in (SEP_ID, EOS_ID)
        assert not {SEP_ID, EOS_ID} & set(hypothesis.ids[:-1])
    free = best(loaded, [SearchRequest(sentences(toy, 2), (), LengthConstraints((4, 4), forced_count=False))])[0]
    assert all(h.ids[-1] == EOS_ID for h in free)
    # Sentences beyond the last count as the last, whatever the limits of other searches.
    company = SearchRequest(sentences(toy, 1), (), LengthConstraints((3,) * 9))
    again = best(
        loaded, [SearchRequest(sentences(toy, 2), (), LengthConstraints((4, 4), forced_count=False)), company]
    )[0]
    assert [h.capped for h in again] == [h.capped for h in free]
    assert all(set(h.capped) <= {0, 1} for h in free) and any(h.capped for h in free)


def test_scores_fall(loaded: LoadedModel, toy: PreparedData) -> None:
    (found,) = best(
        loaded, [SearchRequest(sentences(toy, 1), (), LengthConstraints((10,), stop_at_separator=True))], beam=6
    )
    assert len(found) == 6 and len({h.ids for h in found}) == 6
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
