"""Which way a model computes: with the compiled library on a CPU, or with PyTorch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fenster.decode.config import DecodeConfig
from fenster.decode.search import ControlSymbols, Searcher
from fenster.errors import FensterError
from fenster.io.machine import find_device, usual_threads
from fenster.io.native_library import library
from fenster.io.progress import report
from fenster.model.compiled.model_folder import CompiledModel, load_compiled
from fenster.model.compiled.network import compiles
from fenster.model.description import AnyModel, read_description


def load_for_decoding(folder: Path, config: DecodeConfig, device: str) -> AnyModel:
    """The model in a folder, on a GPU if there is one; on a CPU with the compiled library, where that is possible."""
    where = find_device("cpu" if config.int8 and device == "auto" else device)
    if config.int8 and where != "cpu":
        raise FensterError("int8 weights work only on a CPU", fix="use device: cpu, or leave int8 out")
    description = read_description(folder)
    if where == "cpu" and compiles(description.model):
        model = load_compiled(folder, description, config.int8)
        model.network.threads = config.threads or model.network.threads
        return model
    from fenster.model.model_folder import load_model

    if where == "cpu":
        import torch

        torch.set_num_threads(config.threads or usual_threads())
        if library() is None:
            report(
                "the compiled library is missing: translating in float32 with PyTorch, which is several times "
                "slower. To fix this, install a C++ compiler, then reinstall fenster"
            )
        elif config.int8 or (config.int8 is None and description.bits == 8):
            report("the compiled library cannot compute this model's attention; translating in float32 with PyTorch")
    return load_model(folder, where)


def make_searcher(
    model: AnyModel, config: DecodeConfig, symbols: ControlSymbols, joins_word: NDArray[np.bool_]
) -> Searcher:
    if isinstance(model, CompiledModel):
        from fenster.decode.search.compiled import CompiledSearcher

        return CompiledSearcher(model.network, config, symbols, joins_word)
    from fenster.decode.search.pytorch.searcher import PytorchSearcher
    from fenster.model.model_folder import LoadedModel

    assert isinstance(model, LoadedModel)
    return PytorchSearcher(model.model, config, symbols, joins_word)
