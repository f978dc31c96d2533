"""Every configuration that ships is valid, and the manual shows every key."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from fenster.config import load
from fenster.model.transformer import Transformer
from fenster.train.config import TrainConfig

FOLDER = Path(__file__).resolve().parents[2] / "src" / "fenster" / "configs" / "train"
CONFIGS = sorted(FOLDER.glob("**/*.yaml"))
SYSTEMS = {
    "sentence": "sentence",
    "concat-2": "concat 2 sent.",
    "concat-1000": "concat 1000 tok.",
    "lst": "LST 1000 tok.",
    "window": "window 1000 tok.",
}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: str(path.relative_to(FOLDER)))
def test_it_is_valid(path: Path) -> None:
    config = load(path, TrainConfig)
    assert path.stem not in SYSTEMS or config.system == SYSTEMS[path.stem]


def test_every_system_has_one_for_every_task() -> None:
    for task in ("news", "ted", "os", "europarl"):
        assert {path.stem for path in (FOLDER / task).iterdir()} == set(SYSTEMS)


def test_the_manual_shows_every_key() -> None:
    text = (FOLDER / "europarl" / "window.yaml").read_text()
    shown = {line.strip("# \n").split(":")[0] for line in text.splitlines()}
    parts = [field.annotation for field in TrainConfig.model_fields.values()]
    sections: list[type[BaseModel]] = [TrainConfig]
    sections += [part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)]
    assert not {key for section in sections for key in section.model_fields} - shown


def test_paper_sizes() -> None:
    model = Transformer(load(FOLDER / "news" / "window.yaml", TrainConfig).model, 15_000)
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(51.8e6, rel=0.01)
