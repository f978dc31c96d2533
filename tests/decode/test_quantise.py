"""8-bit weights stay close to the model, and every rule of decoding holds for them."""

import torch

from fenster.decode.config import DecodeConfig
from fenster.decode.quantise import quantised
from fenster.decode.translator import Translator
from fenster.model.saved import Saved
from fenster.shards import Prepared
from tests.decode.conftest import make_saved


def test_logits_stay_close(toy: Prepared) -> None:
    saved = make_saved(toy, "window", sharpness=1.0)
    hidden = torch.randn(30, saved.model.config.width)
    model = saved.model.float()
    small = quantised(model)
    with torch.no_grad():
        wanted, found = model.logits(hidden), small.logits(hidden)
    assert float((wanted - found).norm() / wanted.norm()) < 0.03
    assert not torch.equal(wanted, found), "nothing was quantised"
    assert model.projection is None, "the model itself is left as it was"


def test_documents(toy: Prepared) -> None:
    saved = make_saved(toy, "window")
    small = Saved(saved.description, quantised(saved.model.float()), saved.tokenizer)
    result = Translator(small, DecodeConfig(beam=2)).translate(["Hi, Anna.", "", "Are you tired?"])
    assert len(result.segments) == 3 and result.texts[1] == ""
