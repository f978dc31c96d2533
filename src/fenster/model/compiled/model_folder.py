"""A model folder for the compiled library, read without PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from fenster.data.tokenizer import Tokenizer
from fenster.errors import InputError
from fenster.io.machine import keep_little_memory, release_memory
from fenster.io.model_json import MODEL_JSON
from fenster.language.lexicon import Lexicon
from fenster.model.compiled.network import CompiledNetwork
from fenster.model.description import (
    Description,
    check_weights,
    read_description,
    read_lexicon,
    read_tokenizer,
    weight_files,
)

_READ_AT_ONCE = 2_000_000  # bytes


@dataclass(frozen=True)
class CompiledModel:
    """A model folder that the compiled library translates with."""

    description: Description
    network: CompiledNetwork
    tokenizer: Tokenizer
    folder: Path | None = None
    lexicon: Lexicon | None = None
    """The words of its training data, if the folder has them."""
    device_type = "cpu"

    @property
    def int8(self) -> bool:
        return self.network.int8


def load_compiled(folder: Path, description: Description | None = None, int8: bool | None = None) -> CompiledModel:
    """The model with its tokenizer, computing in 8 bits or not; None: if it is stored so."""
    keep_little_memory()
    description = description or read_description(folder)
    tokenizer = read_tokenizer(folder, description)
    int8 = description.bits == 8 if int8 is None else int8
    try:
        network = CompiledNetwork(
            description.model,
            description.vocab_size,
            description.ratio,
            _weights(folder, description.sha256),
            int8=int8,
        )
    except FloatingPointError:
        raise InputError(
            "some weights are NaN or infinite", path=folder, fix="train again with a lower optimizer.lr"
        ) from None
    except ValueError as error:
        raise InputError(
            f"does not fit its {MODEL_JSON} ({error})", path=folder, fix="copy the folder again"
        ) from None
    release_memory()
    return CompiledModel(description, network, tokenizer, folder, read_lexicon(folder, description))


def _weights(folder: Path, hashes: dict[str, str]) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Names and arrays, file by file."""
    for path in weight_files(folder):
        try:
            check_weights(path, hashes)
            yield from _tensors(path)
        except (OSError, SafetensorError) as error:
            raise InputError(f"cannot be loaded ({error})", path=path, fix="copy the folder again") from None


def _tensors(path: Path) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Those of one file, which is closed now and then: what was read of it counts as memory while it is open."""
    names: list[str] = []
    with safe_open(path, framework="np") as file:
        names += file.keys()
    while names:
        with safe_open(path, framework="np") as file:
            read = 0
            while names and read < _READ_AT_ONCE:
                array = file.get_tensor(name := names.pop(0))
                read += array.nbytes
                yield name, array
