"""Weights of one model as the beginning of another."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fenster.model.config import ModelConfig, preset
from fenster.model.init import load_partial
from fenster.model.layout import Layout
from fenster.model.transformer import Transformer

FULL = {"kind": "full"}
LST = {"kind": "lst"}
WINDOW = {"kind": "window", "window": 3}
WIDER = {"kind": "window", "window": 5}


def model(config: ModelConfig) -> Transformer:
    torch.manual_seed(1)
    return Transformer(config, 40).eval()


def hidden(model: Transformer, sentences: list[int]) -> Tensor:
    side = Layout.from_sentence_lengths([sentences])
    ids = torch.arange(side.tokens) % 30 + 8
    with torch.no_grad():
        return model(ids, ids.flip(0), side, side)


@pytest.mark.parametrize("kinds", [(FULL, LST), (LST, FULL)])
def test_one_sentence_is_the_same_with_full_and_lst_attention(kinds: tuple[dict[str, str], ...]) -> None:
    old, new = (model(preset("tiny", attention=kind)) for kind in kinds)
    torch.nn.init.normal_(new.get_parameter("encoder.0.ffn.up.weight"))  # another model before
    assert not torch.allclose(hidden(old, [9]), hidden(new, [9]), atol=1e-3)
    assert load_partial(new, old.state_dict()) == ([], [])
    assert torch.allclose(hidden(old, [9]), hidden(new, [9]), atol=1e-5)
    assert not torch.allclose(hidden(old, [4, 5]), hidden(new, [4, 5]), atol=1e-3), "two sentences differ"


@pytest.mark.parametrize("kinds", [(WINDOW, WIDER), (WIDER, WINDOW)])
def test_of_relative_vectors_the_common_distances_are_taken(kinds: tuple[dict[str, object], ...]) -> None:
    old, new = (model(preset("tiny", positions="relative", attention=kind)) for kind in kinds)
    before = new.get_parameter("encoder.1.attention.table").detach().clone()
    tables = [f"{side}.{layer}.attention.table" for side in ("decoder", "encoder") for layer in (0, 1)]
    assert load_partial(new, old.state_dict()) == ((tables, []) if len(before) == 11 else ([], tables))
    theirs, ours = (model.get_parameter("encoder.1.attention.table").detach() for model in (old, new))
    wide, narrow = (ours, theirs) if len(ours) > len(theirs) else (theirs, ours)
    assert len(narrow) == 7 and torch.equal(wide[2:-2], narrow)
    if ours is wide:
        assert torch.equal(ours[:2], before[:2]) and torch.equal(ours[-2:], before[-2:])


def test_what_only_one_has_is_named() -> None:
    old = model(preset("tiny", attention=FULL, decoder_layers=1))
    new = model(preset("tiny", attention=WINDOW, positions="relative", encoder_layers=1))
    fresh, left = load_partial(new, old.state_dict())
    assert "encoder.0.attention.table" in fresh and "decoder.1.ffn.up.weight" in fresh
    assert left and all(name.startswith("encoder.1.") for name in left)


@pytest.mark.parametrize("change", [{"ffn": 128}, {"d_model": 128}])
def test_other_sizes_are_refused(change: dict[str, int]) -> None:
    old, new = model(preset("tiny")), model(preset("tiny", **change))
    with pytest.raises(ValueError, match=r"in that model and .* in this one"):
        load_partial(new, old.state_dict())
