"""8-bit weights stay close to the model, and every rule of decoding holds for them."""

import pytest
import torch
from torch import nn

from fenster.data.dataset import PreparedData
from fenster.decode.config import DecodeConfig
from fenster.decode.translator import Translator
from fenster.document import Document
from fenster.errors import FensterError
from fenster.model.model_folder import LoadedModel
from fenster.model.ops.int8_linear import RowwiseInt8Linear
from fenster.model.quantize import quantized
from tests.helpers.models import make_loaded


def test_logits_stay_close(toy: PreparedData) -> None:
    loaded = make_loaded(toy, "window", sharpness=1.0)
    hidden = torch.randn(30, loaded.model.config.d_model)
    model = loaded.model.float()
    small = quantized(model)
    with torch.no_grad():
        wanted, found = model.logits(hidden), small.logits(hidden)
    assert float((wanted - found).norm() / wanted.norm()) < 0.03
    assert not torch.equal(wanted, found), "nothing was quantised"
    assert model.projection is None, "the model itself is left as it was"


def test_documents(toy: PreparedData) -> None:
    loaded = make_loaded(toy, "window")
    small = LoadedModel(loaded.description, quantized(loaded.model.float()), loaded.tokenizer)
    result = Translator(small, DecodeConfig(beam=2)).translate(["Hi, Anna.", "", "Are you tired?"])
    assert len(result.segments) == 3 and result.texts[1] == ""


def test_documents_side_by_side_are_translated_as_alone(toy: PreparedData) -> None:
    """Inputs are quantised row by row: the range of one document is none of another's business."""
    loaded = make_loaded(toy, "window")
    small = LoadedModel(loaded.description, quantized(loaded.model.float()), loaded.tokenizer)
    documents = [
        Document.of(str(n), texts) for n, texts in enumerate((["Hi, Anna.", "Are you tired?"], ["It is old."] * 3))
    ]
    together = list(Translator(small, DecodeConfig(beam=2, batch_size=2)).translate_all(documents))
    alone = [Translator(small, DecodeConfig(beam=2, batch_size=1)).translate(document) for document in documents]
    assert [result.texts for result in together] == [result.texts for result in alone]
    for found, wanted in zip(together, alone, strict=True):
        scores = [[segment.score for segment in result.segments] for result in (found, wanted)]
        torch.testing.assert_close(torch.tensor(scores[0]), torch.tensor(scores[1]), rtol=1e-6, atol=1e-6)


def test_a_row_does_not_depend_on_its_company() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(24, 10)
    x = torch.randn(6, 24) * torch.tensor([1e-4, 1, 30, 0, 1e3, 1])[:, None]
    for nonnegative, inputs in ((False, x), (True, x.relu())):
        rows = RowwiseInt8Linear(layer, nonnegative)
        whole = rows(inputs)
        for n in range(6):
            assert torch.equal(rows(inputs[n : n + 1])[0], whole[n])
        error = (whole - layer(inputs)).norm(dim=1) / (layer(inputs) - layer.bias).norm(dim=1).clamp(min=1e-3)
        assert float(error.detach().max()) < 0.05
    assert torch.equal(whole[3], layer.bias), "a row of zeros"
    for fault in (torch.nan, torch.inf):
        with pytest.raises(FensterError, match="produced NaN"):
            rows(torch.full((2, 24), fault))


def test_without_the_operations_it_computes_in_float32(
    toy: PreparedData, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """PyTorch has announced to remove them."""
    monkeypatch.setattr("fenster.model.quantize.int8_available", lambda: False)
    loaded = make_loaded(toy, "window")
    small = quantized(loaded.model)
    assert small.projection is None and "translating in float32" in capsys.readouterr().err
    assert all(torch.equal(a, b) for a, b in zip(small.parameters(), loaded.model.float().parameters(), strict=True))
