"""Model folders for the compiled library: the weights that a network has, and what is wrong with others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from fenster.data.dataset import PreparedData
from fenster.decode.config import DecodeConfig
from fenster.decode.cross_attention import cross_attention
from fenster.decode.loading import load_for_decoding
from fenster.decode.search import LengthConstraints, SearchRequest
from fenster.decode.search.compiled import CompiledSearcher
from fenster.decode.translator import Translator
from fenster.errors import FensterError, InputError
from fenster.io.native_library import library
from fenster.model.compiled.conversion import compiled
from fenster.model.compiled.model_folder import CompiledModel, load_compiled
from fenster.model.compiled.network import CompiledNetwork, compiles, shapes
from fenster.model.compiled.structures import has_this_layout
from fenster.model.int8_storage import quantize_state
from fenster.model.model_folder import LoadedModel, export_model, load_model
from tests.helpers.models import KINDS, as_compiled, make_loaded, write_model
from tests.helpers.searches import some_requests
from tests.helpers.transformers import VARIANTS, make

needs_library = pytest.mark.skipif(library() is None, reason="not compiled: no C++ compiler")
Tensors = dict[str, torch.Tensor]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_it_has_the_weights_of_the_model(variant: str, norm: str) -> None:
    model = make(variant, norm=norm)
    assert shapes(model.config, 40) == {name: tuple(x.shape) for name, x in model.state_dict().items()}


@needs_library
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("kind", list(KINDS))
def test_a_folder_is_the_model_in_it(
    toy: PreparedData, tmp_path: Path, kind: str, bits: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several files, closed now and then while they are read."""
    monkeypatch.setattr("fenster.model.model_folder._MOST", 20_000)
    monkeypatch.setattr("fenster.model.compiled.model_folder._READ_AT_ONCE", 10_000)
    export_model(write_model(make_loaded(toy, kind), tmp_path / "model"), tmp_path / "small", bits=bits)
    model = load_compiled(tmp_path / "small")
    assert model.int8 == (bits == 8)
    again = compiled(load_model(tmp_path / "small").model, int8=model.int8)
    requests, config = some_requests(toy), DecodeConfig(beam=2)
    found, wanted = (CompiledSearcher(network, config).search(requests) for network in (model.network, again))
    assert [[one.ids for one in few] for few in found] == [[one.ids for one in few] for few in wanted]
    full = load_compiled(tmp_path / "small", int8=False)
    assert not full.int8 and full.network.nbytes > model.network.nbytes * (3 if bits == 8 else 0.9)


def damage(change: Callable[[Tensors], None]) -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        tensors = load_file(folder / "weights.safetensors")
        change(tensors)
        save_file({name: x.contiguous() for name, x in tensors.items()}, folder / "weights.safetensors")

    return do


def unlisted(folder: Path) -> None:
    """Files without recorded checksums, as people may make them."""
    description = (folder / "model.json").read_text()
    begin = description.index('"sha256"')
    end = description.index("}", begin) + 1
    (folder / "model.json").write_text(description[:begin] + '"sha256": {}' + description[end:])


FAULTS: dict[str, tuple[Callable[[Tensors], Any], str]] = {
    "missing": (lambda t: t.pop("encoder.0.ffn.up.bias"), r"encoder\.0\.ffn\.up\.bias is missing"),
    "unknown": (lambda t: t.update(more=torch.zeros(3)), "more is not part of such a model"),
    "another shape": (
        lambda t: t.update({"encoder.0.ffn.up.bias": torch.zeros(3)}),
        r"encoder\.0\.ffn\.up\.bias is 3, not 256",
    ),
    "NaN": (lambda t: t["embedding.weight.scale"].fill_(torch.nan), "NaN or infinite"),
    "no scale": (lambda t: t.pop("embedding.weight.scale"), r"embedding\.weight has no scales"),
    "one scale": (
        lambda t: t.update({"embedding.weight.scale": torch.ones(1, 1)}),
        r"embedding\.weight\.scale is 1 x 1, not",
    ),
    "scale of floats": (
        lambda t: t.update({"embedding.weight": t["embedding.weight"].float()}),
        r"embedding\.weight\.scale is of no int8 matrix",
    ),
    "-128": (lambda t: t["embedding.weight"].fill_(-128), r"embedding\.weight has numbers below -127"),
}


@needs_library
@pytest.mark.parametrize("fault", FAULTS)
def test_damaged_weights_are_refused(toy: PreparedData, tmp_path: Path, fault: str) -> None:
    change, message = FAULTS[fault]
    export_model(write_model(make_loaded(toy, "window"), tmp_path / "model"), tmp_path / "small", bits=8)
    damage(change)(tmp_path / "small")
    with pytest.raises(InputError, match="checksum mismatch"):
        load_compiled(tmp_path / "small")
    unlisted(tmp_path / "small")
    with pytest.raises(InputError, match=message):
        load_compiled(tmp_path / "small")


@needs_library
def test_files_that_are_no_weights(toy: PreparedData, tmp_path: Path) -> None:
    folder = write_model(make_loaded(toy, "window"), tmp_path / "model")
    weights = folder / "weights.safetensors"
    unlisted(folder)
    for content in (b"", b"text", weights.read_bytes()[:-100]):
        weights.write_bytes(content)
        with pytest.raises(InputError, match="cannot be loaded"):
            load_compiled(folder)
    weights.unlink()
    with pytest.raises(InputError, match="cannot be loaded"):
        load_compiled(folder)


@needs_library
def test_int8_rows_of_float_weights_are_those_of_exported_ones(toy: PreparedData) -> None:
    model = make_loaded(toy, "window").model
    stored = {name: x.numpy() for name, x in quantize_state(model.float().state_dict()).items()}
    network = CompiledNetwork(model.config, model.vocab_size, model.ratio, stored.items(), int8=True)
    again = compiled(model, int8=True)
    for name, matrix in network._matrices.items():
        assert np.array_equal(matrix.packed, again._matrices[name].packed)


@needs_library
def test_which_way_a_model_computes(
    toy: PreparedData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "small"
    export_model(write_model(make_loaded(toy, "window"), tmp_path / "model"), folder, bits=8)
    config = DecodeConfig(threads=3)
    model = load_for_decoding(folder, config, "cpu")
    assert isinstance(model, CompiledModel) and model.int8 and model.network.threads == 3
    assert capsys.readouterr().err == ""
    with pytest.raises(FensterError, match=r"int8 weights work only on a CPU|there is no GPU here"):
        load_for_decoding(folder, DecodeConfig(int8=True), "cuda")
    texts = ["Hi, Anna.", "", "Are you tired?"]
    with_library = Translator(model, DecodeConfig(beam=2)).translate(texts).texts
    # Installed where no compiler was.
    for module in ("fenster.model.compiled.network", "fenster.decode.loading"):
        monkeypatch.setattr(f"{module}.library", lambda: None)
    before = torch.get_num_threads()
    try:
        slow = load_for_decoding(folder, config, "cpu")
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert isinstance(slow, LoadedModel) and not slow.int8
    said = capsys.readouterr().err
    assert "translating in float32" in said and "install a C++ compiler" in said
    assert len(Translator(slow, DecodeConfig(beam=2)).translate(texts).texts) == len(with_library) == 3


@needs_library
def test_a_library_of_another_version_is_not_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Older:
        def fenster_structure_bytes(self, number: int) -> int:
            return 8

    monkeypatch.setattr("fenster.model.compiled.structures.required_library", Older)
    has_this_layout.cache_clear()
    try:
        assert not compiles(make("window").config)
        assert "from another version" in capsys.readouterr().err
    finally:
        has_this_layout.cache_clear()


@needs_library
def test_tokens_of_another_model_are_refused(toy: PreparedData) -> None:
    model = as_compiled(make_loaded(toy, "window"))
    searcher, far = CompiledSearcher(model.network, DecodeConfig()), np.array([60_000], dtype=np.uint16)
    limits = LengthConstraints((3,), stop_at_separator=True)
    for request in (SearchRequest([far], (), limits), SearchRequest([far[:0], far[:0]], [far], limits)):
        with pytest.raises(FensterError, match="token 60,000 is not in the model's vocabulary"):
            searcher.search([request])
    with pytest.raises(FensterError, match="not in the model's vocabulary"):
        cross_attention(model, np.array([9], dtype=np.uint16), far)


@needs_library
@pytest.mark.parametrize("how", ["text", "attention", "glossary"])
def test_translating_on_a_cpu_does_without_torch(tmp_path: Path, how: str) -> None:
    (tmp_path / "terms.csv").write_text("lamp,Leuchte\n")
    options = {"text": "", "attention": "", "glossary": f", glossary={str(tmp_path / 'terms.csv')!r}"}[how]
    text = {"text": "Here is the lamp.", "attention": "Here is **the** lamp.", "glossary": "Here is the lamp."}[how]
    code = f"import fenster, sys; print(fenster.load(device='cpu', beam=2{options}).translate([{text!r}]).texts)"
    code += "; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
