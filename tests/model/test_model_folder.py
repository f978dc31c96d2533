"""Model folders in 8 bits and in parts, and the bundled model."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import fenster
from fenster.cli import main
from fenster.data.dataset import PreparedData
from fenster.errors import InputError
from fenster.io.model_json import DEFAULT_MODEL
from fenster.model import model_folder as saving
from fenster.model.description import read_description
from fenster.model.int8_storage import dequantize_state, quantize_state
from fenster.model.model_folder import export_model, load_model
from tests.helpers.models import KINDS, make_loaded, write_model


def test_eight_bits_keep_each_row_s_scale() -> None:
    torch.manual_seed(0)
    weights = {
        "a": torch.randn(6, 50) * torch.logspace(-3, 2, 6)[:, None],
        "b": torch.randn(7),
        "c": torch.zeros(2, 3),
    }
    small = quantize_state(weights)
    assert small["a"].dtype == torch.int8 and small["b"] is weights["b"]
    again = dequantize_state(small)
    assert set(again) == set(weights)
    error = (again["a"] - weights["a"]).abs().amax(1) / weights["a"].abs().amax(1)
    assert float(error.max()) < 0.5 / 127 + 1e-6
    assert torch.equal(again["c"], weights["c"]) and torch.equal(again["b"], weights["b"])


def test_an_exported_model_is_the_model(
    toy: PreparedData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_model(make_loaded(toy, "window", sharpness=1.0), tmp_path / "model")
    monkeypatch.setattr(saving, "_MOST", 20_000)
    main(["export", "-m", str(model), "-o", str(tmp_path / "small")])
    parts = sorted(path.name for path in (tmp_path / "small").glob("weights*"))
    assert len(parts) > 2 and parts[0] == f"weights-1-of-{len(parts)}.safetensors"
    before, after = load_model(model), load_model(tmp_path / "small")
    assert after.description.bits == 8
    for name, weight in before.model.state_dict().items():
        found = after.model.state_dict()[name]
        assert float((found - weight).abs().max()) <= float(weight.abs().max()) / 100, name
    (tmp_path / "small" / parts[1]).unlink()
    with pytest.raises(InputError, match="cannot be loaded"):
        load_model(tmp_path / "small")
    capsys.readouterr()


def test_export_writes_over_nothing_else(
    toy: PreparedData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_model(make_loaded(toy, "window"), tmp_path / "run" / "model")
    (tmp_path / "run" / "log.jsonl").write_text("{}")
    for output in (tmp_path / "run", model):
        with pytest.raises(SystemExit):
            main(["export", "-m", str(model), "-o", str(output)])
        assert "overwrite itself" in capsys.readouterr().err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("text")
    with pytest.raises(InputError, match="holds files that are not part of a model"):
        export_model(model, tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").exists()
    for _ in range(2):  # over a model of its own it may
        export_model(model, tmp_path / "small")


def test_a_lexicon_goes_with_its_model(toy: PreparedData, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = write_model(make_loaded(toy, "window"), tmp_path / "model")
    assert load_model(model).lexicon is None
    corpus = tmp_path / "corpus.tsv"
    corpus.write_text("a\tWe went to Munich.\tWir fuhren nach München.\n", encoding="utf-8")
    main(["export", "-m", str(model), "-o", str(tmp_path / "small"), "--lexicon-from", str(corpus)])
    main(["export", "-m", str(tmp_path / "small"), "-o", str(tmp_path / "again")])
    lexicon = load_model(tmp_path / "again").lexicon
    assert lexicon is not None and "Munich" in lexicon and "Ashdod" not in lexicon
    file = tmp_path / "again" / "lexicon.bin"
    file.write_bytes(bytes(file.stat().st_size))
    with pytest.raises(InputError, match=r"lexicon\.bin.*is missing or was changed"):
        load_model(tmp_path / "again")
    capsys.readouterr()


def test_export_averages_models(toy: PreparedData, tmp_path: Path) -> None:
    loaded = [make_loaded(toy, "window") for _ in range(2)]
    with torch.no_grad():
        for parameter in loaded[1].model.parameters():
            parameter.add_(1)
    folders = [write_model(each, tmp_path / str(number)) for number, each in enumerate(loaded)]
    main(
        [
            "export",
            "-m",
            str(folders[0]),
            "--average-with",
            *[str(folders[1])] * 3,
            "-o",
            str(tmp_path / "mean"),
            "--bits",
            "16",
        ]
    )
    mean = load_model(tmp_path / "mean")
    for name, weight in mean.model.state_dict().items():
        first, second = (each.model.state_dict()[name] for each in loaded)
        assert torch.allclose(weight, ((first + 3 * second) / 4).float(), atol=2e-3), name
    assert mean.description.training["averaged"] == 4


def test_export_averages_only_what_is_alike(
    toy: PreparedData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = (write_model(make_loaded(toy, system), tmp_path / system) for system in ("window", "sentence"))
    with pytest.raises(SystemExit) as stopped:
        main(["export", "-m", str(one), "--average-with", str(other), "-o", str(tmp_path / "mean")])
    assert stopped.value.code == 2
    assert "a different network" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["export", "-m", str(one), "--average-with", str(other), "-o", str(other)])
    assert "overwrite itself" in capsys.readouterr().err


def test_the_model_that_ships_translates() -> None:
    """Small enough to ship, and good enough that plain sentences come out right."""
    sizes = [path.stat().st_size for path in DEFAULT_MODEL.iterdir()]
    assert sum(sizes) < 64e6 and max(sizes) < 16e6
    assert not re.search(r"/(tmp|home|work|root)/", (DEFAULT_MODEL / "model.json").read_text()), (
        "a folder of some machine"
    )
    translator = fenster.load(beam=4)
    assert translator.loaded.int8, "it runs in 8 bits on a CPU"
    found = translator.translate(["Good morning, Mr Weber.", "", "I would like to thank you for your letter."]).texts
    assert found[0].rstrip(".!") == "Guten Morgen, Herr Weber" and found[1] == ""
    assert "danke" in found[2] and "Ihnen" in found[2] and "Brief" in found[2]


def read_description_of(body: dict[str, Any], tmp_path: Path) -> str:
    """The backend of a model folder with this description."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "model.json").write_text(json.dumps(body))
    return read_description(tmp_path / "other").model.backend


@pytest.mark.parametrize("kind", list(KINDS))
def test_folders_of_format_1_still_load(toy: PreparedData, tmp_path: Path, kind: str) -> None:
    """What fenster 0.1 wrote: other names of the same settings."""
    loaded = make_loaded(toy, kind)
    folder = write_model(loaded, tmp_path / "model")
    body = json.loads((folder / "model.json").read_text())
    former = {"d_model": "width", "backend": "compute", "max_distance": "reach"}
    model = {former.get(key, key): value for key, value in body["model"].items()}
    model["attention"] = {former.get(key, key): value for key, value in model["attention"].items()}
    training = {"initial": {"system": "sentence"}, "update": 5}
    assert (
        read_description_of({**body, "format_version": 1, "model": model | {"compute": "kernel"}}, tmp_path)
        == "window-gpu"
    )
    written = body | {"format_version": 1, "model": model, "training": training}
    (folder / "model.json").write_text(json.dumps(written))
    again = load_model(folder)
    assert again.description.model == loaded.description.model
    assert again.description.training == {"warm_start": {"system": "sentence"}, "update": 5}
    (folder / "model.json").write_text(json.dumps(written | {"format_version": 3}))
    with pytest.raises(InputError, match="a model of format 3"):
        load_model(folder)
