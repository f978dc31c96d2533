"""Options that several commands share: which model, how it decodes."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from fenster.decode.config import DecodeConfig
from fenster.errors import ConfigError
from fenster.io.model_json import DEFAULT_MODEL, MODEL_JSON, model_languages

if TYPE_CHECKING:
    from fenster.decode.translator import Translator
    from fenster.model.model_folder import LoadedModel

# Imports that bring torch stand inside the functions: the rest of the command line must not wait for it.

Decoding = Annotated[DecodeConfig, Parameter(name="*")]
"""Every setting of DecodeConfig is an option."""
Device = Literal["auto", "cpu", "cuda"]
Output = Annotated[Path | None, Parameter(name=["--output", "-o"])]
Flag = Annotated[bool, Parameter(negative="")]
Paths = Annotated[list[Path] | None, Parameter(consume_multiple=True, negative="")]
Overrides = Annotated[list[str] | None, Parameter(name="--set", negative="")]
Limit = Annotated[int | None, Parameter(validator=Number(gte=1))]
FormatName = Annotated[
    str | None,
    Parameter(name=["--format", "-f"], help="Guessed from the names if left out; `fenster data formats` lists all."),
]


@Parameter(name="*")
@dataclass(frozen=True)
class ModelOption:
    """A model folder."""

    model: Annotated[Path | None, Parameter(name=["--model", "-m"])] = None
    "A model folder, as in the `model` folder of a run; the bundled English-German model if left out."
    system: str | None = None
    "A run below --model: `-m runs/europarl --system window` is `-m runs/europarl/window/model`."

    @property
    def folder(self) -> Path:
        """The folder that the options name; without them, that of the bundled model."""
        if self.model is None:
            if self.system is not None or not DEFAULT_MODEL.is_dir():
                raise ConfigError("no model given", fix="give --model FOLDER")
            return DEFAULT_MODEL
        if self.system is None:
            return self.model
        for folder in (self.model / self.system / "model", self.model / self.system):
            if (folder / MODEL_JSON).is_file():
                return folder
        have = ", ".join(sorted(path.parent.parent.name for path in self.model.glob("*/model/model.json"))) or "none"
        raise ConfigError(f"unknown system {self.system!r}", path=self.model, expected=f"one of: {have}")

    @property
    def languages(self) -> tuple[str, str]:
        """Of the source and the translation."""
        return model_languages(self.folder)

    def load(self, device: str) -> LoadedModel:
        with _without_collecting():
            from fenster.io.machine import find_device
            from fenster.model.model_folder import load_model

        return load_model(self.folder, find_device(device))

    def translator(self, decoding: DecodeConfig, device: str) -> Translator:
        with _without_collecting():
            from fenster.decode.translator import Translator

        return Translator.load(self.folder, decoding, device)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """For imports of torch: what modules make stays, and looking for garbage among it takes a fifth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
    gc.freeze()


def for_single_items(decoding: DecodeConfig, folder: Path) -> DecodeConfig:
    """Settings for single items in context: systems with k sentences of context translate sentence by sentence by
    default, since blocks would separate items from the context that they are given."""
    from fenster.model.description import read_description

    overlapping = read_description(folder).context.overlapping
    sequential = overlapping and decoding.strategy == "auto"
    return decoding.model_copy(update={"strategy": "sequential"}) if sequential else decoding
