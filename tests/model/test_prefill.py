"""Given tokens at once leave the decoder in the state that they leave it in one by one."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from fenster.data.tokenizer import BOS_ID
from fenster.model.attention.alignment import decoding_alignments
from fenster.model.attention.cache import WindowSourceCache
from fenster.model.layout import Layout
from fenster.model.transformer import shift_right
from tests.helpers.transformers import VARIANTS, make, some_batch

DECODING = decoding_alignments()


@pytest.mark.parametrize("alignment", DECODING)
@pytest.mark.parametrize("variant", VARIANTS)
def test_it_equals_step_by_step(variant: str, alignment: str) -> None:
    if variant.startswith(("full", "lst")) and alignment != "sent-align":
        pytest.skip("no window, no alignment")
    model = make(variant)
    ids, wanted, source, target = some_batch()
    aligned = model.alignment(alignment)
    memory = model.encode(ids, source)
    given = [[3, 5, 1], [7, 2]]  # decoder inputs: BOS and 8 tokens, the first of the third sentence to come next
    prefix = Layout.from_sentence_lengths(given)
    inputs, ahead = [], []
    for b in range(2):
        tokens = wanted[target.offsets[b] : target.offsets[b + 1]]
        inputs += [torch.tensor([BOS_ID]), tokens[: sum(given[b]) - 1]]
        ahead.append(tokens[sum(given[b]) - 1 :][:2])
    hidden, state = model.prefill(torch.cat(inputs), prefix, memory, source, aligned)
    for b in range(2):
        own = model.begin(memory, source, torch.tensor([b]), alignment=aligned)
        previous = BOS_ID
        for token in [*wanted[target.offsets[b] :][: sum(given[b]) - 1].tolist(), None]:
            found, own = model.step(torch.tensor([previous]), own)
            previous = token
        torch.testing.assert_close(hidden[b], found[0])
        one = state.reorder(torch.tensor([b]))
        for token in ahead[b].tolist():
            found, own = model.step(torch.tensor([token]), own)
            again, one = model.step(torch.tensor([token]), one)
            torch.testing.assert_close(again, found)


@pytest.mark.parametrize("alignment", DECODING)
@pytest.mark.parametrize("settings", [{"positions": "relative"}, {"positions": "sinusoidal"}], ids=str)
def test_what_lies_out_of_reach_can_be_left_out(alignment: str, settings: dict[str, Any]) -> None:
    """The end of a document with `document_offset` set gives the numbers of the whole document."""
    model = make("window", **settings)  # w = 3, two layers each
    torch.manual_seed(3)
    sentences, targets = [9, 8, 10, 9, 7, 6], [8, 9, 9, 10, 7, 2]
    ids, inputs = torch.randint(6, 40, (sum(sentences),)), torch.randint(6, 40, (sum(targets),))
    aligned = model.alignment(alignment)
    source = Layout.from_sentence_lengths([sentences])
    whole, _ = model.prefill(
        inputs, Layout.from_sentence_lengths([targets]), model.encode(ids, source), source, aligned
    )
    cut = 2
    late = Layout.from_sentence_lengths([sentences[cut:]], document_offset=[sum(sentences[:cut])])
    place = Layout.from_sentence_lengths([targets[cut:]], document_offset=[sum(targets[:cut])])
    memory = model.encode(ids[sum(sentences[:cut]) :], late)
    part, _ = model.prefill(inputs[sum(targets[:cut]) :], place, memory, late, aligned)
    torch.testing.assert_close(part, whole)
    far = len(sentences) - 1
    late = Layout.from_sentence_lengths([sentences[far:]], document_offset=[sum(sentences[:far])])
    place = Layout.from_sentence_lengths([targets[far:]], document_offset=[sum(targets[:far])])
    memory = model.encode(ids[sum(sentences[:far]) :], late)
    short, _ = model.prefill(inputs[sum(targets[:far]) :], place, memory, late, aligned)
    assert not torch.allclose(short, whole), "a test that could not fail: nothing needed was left out"


@pytest.mark.parametrize("alignment", DECODING)
def test_focus_is_for_the_token_to_come_and_those_after_it(alignment: str) -> None:
    model = make("window")
    ids, wanted, source, target = some_batch()
    aligned, memory = model.alignment(alignment), model.encode(ids, source)
    given = [[3, 5, 1], [7, 2]]
    inputs = [shift_right(wanted, target)[target.offsets[b] :][: sum(given[b])] for b in range(2)]
    prefix = Layout.from_sentence_lengths(given)
    hidden, state = model.prefill(torch.cat(inputs), prefix, memory, source, aligned, focus=True)
    plain, _ = model.prefill(torch.cat(inputs), prefix, memory, source, aligned, focus=False)
    assert not torch.allclose(hidden, plain), "a test that could not fail: there was nothing to keep out"
    for b in range(2):
        own = model.begin(memory, source, torch.tensor([b]), alignment=aligned)
        for token in inputs[b][:-1]:
            _, own = model.step(token[None], own)
        assert isinstance(own.cross_cache, WindowSourceCache)
        own = replace(own, cross_cache=replace(own.cross_cache, focus=True))
        one = state.reorder(torch.tensor([b]))
        for n, token in enumerate([inputs[b][-1], wanted[target.offsets[b] + sum(given[b]) - 1]]):
            found, own = model.step(token[None], own)
            again = hidden[b : b + 1]
            if n:
                again, one = model.step(token[None], one)
            torch.testing.assert_close(again, found)
