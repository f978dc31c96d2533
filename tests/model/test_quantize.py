"""8-bit weights stay close to the model, and every rule of decoding holds for them."""

from contextlib import suppress

import pytest
import torch
from torch import Tensor, nn

from fenster.data.dataset import PreparedData
from fenster.decode.config import DecodeConfig
from fenster.decode.scoring import score_in_context
from fenster.decode.translator import Translator
from fenster.document import Document
from fenster.errors import FensterError
from fenster.model.init import WithoutWeights
from fenster.model.int8_storage import quantize_state
from fenster.model.model_folder import LoadedModel
from fenster.model.ops.int8_kernel import int8_available, int8_linear, int8_pack
from fenster.model.ops.int8_linear import RowwiseInt8Linear
from fenster.model.quantize import fill, quantized
from fenster.model.transformer import Transformer
from tests.helpers.models import make_loaded

pytestmark = pytest.mark.skipif(
    not int8_available(), reason="the kernel was not compiled: no C++ compiler at install"
)


def rows_as_int8(weight: Tensor) -> tuple[Tensor, Tensor]:
    stored = quantize_state({"w": weight.detach()})
    return stored["w"], stored["w.scale"][:, 0]


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


def test_scores_are_those_of_float_weights_nearly(toy: PreparedData) -> None:
    loaded = make_loaded(toy, "window", sharpness=1.0)
    small = LoadedModel(loaded.description, quantized(loaded.model.float()), loaded.tokenizer)
    texts = ["Hi, Anna.", "Are you tired?"], ["Hallo, Anna.", "Bist du müde?"]
    wanted, found = (torch.tensor(sum(score_in_context(one, *texts), ())) for one in (loaded, small))
    assert not torch.equal(wanted, found) and float((wanted - found).abs().max()) < 0.2


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
        rows = RowwiseInt8Linear(*rows_as_int8(layer.weight), layer.bias, nonnegative)
        whole = rows(inputs)
        for n in range(6):
            assert torch.equal(rows(inputs[n : n + 1])[0], whole[n])
        error = (whole - layer(inputs)).norm(dim=1) / (layer(inputs) - layer.bias).norm(dim=1).clamp(min=1e-3)
        assert float(error.detach().max()) < 0.05
    assert torch.equal(whole[3], layer.bias), "a row of zeros"
    for fault in (torch.nan, torch.inf):
        with pytest.raises(FensterError, match="produced NaN"):
            rows(torch.full((2, 24), fault))


@pytest.mark.parametrize(
    ("out", "depth", "rows"), [(16, 64, 4), (70, 32, 9), (1, 3, 1), (130, 513, 6), (512, 512, 21)]
)
def test_all_instruction_sets_give_the_same_bits(out: int, depth: int, rows: int) -> None:
    torch.manual_seed(0)
    weight, scale = rows_as_int8(torch.randn(out, depth))
    bias = torch.randn(out)
    for nonnegative in (False, True):
        x = torch.randn(rows, depth) * 3
        x[:, depth // 2] *= 40
        packed = int8_pack(weight, scale)
        plain = int8_linear(x, packed, bias, nonnegative, 1)
        for kind in (0, 2, 3):
            try:
                assert torch.equal(int8_linear(x, packed, bias, nonnegative, kind), plain), kind
            except ValueError:
                assert kind in (2, 3), "this processor does not have it"
        # What it is to compute: whole numbers, but for the few that are large.
        x = x.relu() if nonnegative else x
        large = torch.zeros_like(x)
        if not nonnegative:
            usual = torch.stack([span.abs().amax(1) for span in x.split(64, 1)]).amin(0)
            sizes, places = x.abs().topk(min(4, depth), 1)
            large.scatter_(1, places, x.gather(1, places) * (sizes > 2 * usual[:, None]))
        rest = x - large
        largest = rest.abs().amax(1, keepdim=True).clamp(min=1e-30)
        whole = (rest * (127 / largest)).round().double()
        sums = whole @ weight.double().T * (largest / 127).double() + large.double() @ weight.double().T
        expected = sums * scale.double() + bias
        torch.testing.assert_close(plain.double(), expected, rtol=1e-5, atol=1e-5)
    assert torch.equal(int8_linear(x, packed, None), int8_linear(x, packed, torch.zeros(out)))
    # The largest sums: all weights and inputs ±127, which 16 bits must hold.
    signs = torch.randint(0, 2, (out, depth)) * 2 - 1
    extreme = int8_pack((signs * 127).to(torch.int8), torch.ones(out))
    inputs = torch.cat([signs[:1].float(), -signs[:1].float(), torch.ones(1, depth)])
    expected = (inputs.double() * 127) @ (signs.double() * 127).T / 127
    torch.testing.assert_close(int8_linear(inputs, extreme, None, False, 1).double(), expected)
    for kind in (2, 3):
        with suppress(ValueError):  # this processor does not have it
            torch.testing.assert_close(int8_linear(inputs, extreme, None, False, kind).double(), expected)
    assert not int8_linear(torch.full((1, depth), 1e-38), extreme, None).any(), "nothing to divide by"


@pytest.mark.parametrize("kind", [0, 1, 2, 3])
def test_a_few_large_inputs_do_not_make_the_others_coarse(kind: int) -> None:
    """As networks have them: the same few inputs, far larger than all others, in every row."""
    torch.manual_seed(0)
    weight, scale = rows_as_int8(torch.randn(64, 512))
    x = torch.randn(8, 512)
    x[:, [5, 70, 300]] *= 1000
    x[1, 17] = 3000.0  # and one that a single row has
    wanted = x @ (weight.float() * scale[:, None]).T
    try:
        found = int8_linear(x, int8_pack(weight, scale), None, False, kind)
    except ValueError:
        pytest.skip("this processor does not have it")
    x[:, [5, 70, 300, 17]] = 0
    others = x @ (weight.float() * scale[:, None]).T
    assert float((found - wanted).norm() / others.norm()) < 0.02


def test_threads_change_nothing() -> None:
    packed = int8_pack(*rows_as_int8(torch.randn(2048, 512)))
    x, before = torch.randn(64, 512), torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = int8_linear(x, packed, None)
        torch.set_num_threads(3)
        assert torch.equal(int8_linear(x, packed, None), one)
    finally:
        torch.set_num_threads(before)


def test_without_the_kernel_it_computes_in_float32(
    toy: PreparedData, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Installed where no compiler was."""
    monkeypatch.setattr("fenster.model.quantize.int8_available", lambda: False)
    loaded = make_loaded(toy, "window")
    small = quantized(loaded.model)
    assert small.projection is None and "translating in float32" in capsys.readouterr().err
    assert all(torch.equal(a, b) for a, b in zip(small.parameters(), loaded.model.float().parameters(), strict=True))


def test_damaged_scales_are_refused(toy: PreparedData) -> None:
    loaded = make_loaded(toy, "window")
    stored = quantize_state(loaded.model.float().state_dict())
    for name, damaged in (
        ("embedding.weight.scale", torch.ones(1, 1)),
        ("embedding.weight", stored["embedding.weight"].float()),
        ("embedding.weight", torch.full_like(stored["embedding.weight"], -128)),
    ):
        with WithoutWeights():
            empty = Transformer(loaded.model.config, len(loaded.tokenizer), 1.0)
        with pytest.raises(RuntimeError, match="is not int8 from -127 to 127 with a scale per row"):
            fill(empty, stored | {name: damaged}, int8=True)
