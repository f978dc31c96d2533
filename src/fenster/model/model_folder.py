"""A model folder: all that translation needs, and a card that says what it is. Safetensors and JSON, no pickle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from fenster.data.tokenizer import Tokenizer
from fenster.errors import InputError
from fenster.io.files import atomic_folder
from fenster.io.hashing import file_sha256
from fenster.io.model_json import MODEL_JSON
from fenster.language.lexicon import Lexicon
from fenster.model.description import (
    CARD,
    LEXICON,
    TOKENIZER,
    WEIGHTS,
    WEIGHTS_PART,
    Description,
    check_weights,
    read_description,
    read_lexicon,
    read_tokenizer,
    weight_files,
)
from fenster.model.init import WithoutWeights
from fenster.model.int8_storage import dequantize_state, quantize_state
from fenster.model.transformer import Transformer

_MOST = 15_000_000  # bytes of an exported file, unless one matrix has more


@dataclass(frozen=True)
class LoadedModel:
    """A model folder in PyTorch."""

    description: Description
    model: Transformer
    tokenizer: Tokenizer
    folder: Path | None = None
    lexicon: Lexicon | None = None
    """The words of its training data, if the folder has them."""
    int8 = False

    @property
    def device_type(self) -> str:
        return self.model.device.type


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """As safetensors that others may read too: the library itself writes for the owner only."""
    save_file({name: tensor.detach().contiguous() for name, tensor in tensors.items()}, path)
    path.chmod(0o644)


def save_model(
    folder: Path,
    description: Description,
    weights: dict[str, Tensor],
    tokenizer: Tokenizer,
    card: str,
    lexicon: Lexicon | None = None,
    *,
    most: int | None = None,
) -> None:
    """Write a model folder; an existing one is replaced when the new one is complete. Files of weights are kept below
    `most` bytes."""
    with atomic_folder(folder) as temporary:
        hashes = {}
        for name, part in _files(weights, most):
            write_tensors(temporary / name, part)
            hashes[name] = file_sha256(temporary / name)
        tokenizer.save(temporary / TOKENIZER)
        hashes[TOKENIZER] = file_sha256(temporary / TOKENIZER)
        if lexicon is not None:
            lexicon.save(temporary / LEXICON)
            hashes[LEXICON] = file_sha256(temporary / LEXICON)
        description = description.model_copy(update={"sha256": hashes})
        text = json.dumps(description.model_dump(mode="json"), indent=1, ensure_ascii=False)
        (temporary / MODEL_JSON).write_text(text + "\n", encoding="utf-8")
        (temporary / CARD).write_text(card, encoding="utf-8")


def export_model(
    folder: Path,
    output: Path,
    card: str | None = None,
    bits: Literal[8, 16] = 8,
    average_with: Sequence[Path] = (),
    lexicon: Lexicon | None = None,
) -> int:
    """Write a model folder in 8 or 16 bits, in files that any forge accepts; returns its size. `card` and `lexicon`
    replace its own; the weights are the mean of those of all models."""
    ours = (MODEL_JSON, TOKENIZER, LEXICON, CARD)
    if output.exists() and not output.is_dir():
        raise InputError("is a file", path=output, expected="the name of a folder to write")
    if output.exists() and not all(p.name in ours or p.match("weights*.safetensors") for p in output.iterdir()):
        raise InputError(
            "holds files that are not part of a model and would be lost", path=output, fix="choose a new folder"
        )
    loaded = load_model(folder)
    description = loaded.description.model_copy(update={"bits": bits})
    weights = loaded.model.state_dict()
    if average_with:
        weights = _mean(weights, [_alike(load_model(other), loaded) for other in average_with])
        training = {**description.training, "averaged": 1 + len(average_with)}
        description = description.model_copy(update={"training": training})
    stored = quantize_state(weights) if bits == 8 else {name: tensor.half() for name, tensor in weights.items()}
    if card is None:
        if not (folder / CARD).is_file():
            raise InputError("a model without a card", path=folder / CARD, fix="write one, or give --card")
        card = (folder / CARD).read_text(encoding="utf-8")
    save_model(output, description, stored, loaded.tokenizer, card, lexicon or loaded.lexicon, most=_MOST)
    return sum(path.stat().st_size for path in output.iterdir())


def _alike(other: LoadedModel, first: LoadedModel) -> dict[str, Tensor]:
    """The weights of `other`, which must have the network and the tokenizer of `first` for a mean to make sense."""
    mine, theirs = ({name: x.shape for name, x in model.model.state_dict().items()} for model in (first, other))
    if mine != theirs:
        raise InputError("a different network: its weights have other shapes", path=other.folder)
    if first.tokenizer.sha256 != other.tokenizer.sha256:
        raise InputError("a different tokenizer", path=other.folder, expected=f"that of {first.folder}")
    return other.model.state_dict()


def _mean(weights: dict[str, Tensor], others: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {name: torch.stack([x, *(other[name] for other in others)]).mean(0) for name, x in weights.items()}


def load_model(folder: Path, device: torch.device | str = "cpu") -> LoadedModel:
    """The model in evaluation mode on `device`, with its tokenizer."""
    description = read_description(folder)
    tokenizer = read_tokenizer(folder, description)
    tensors = dequantize_state(_tensors(folder, description.sha256))
    if not all(bool(x.isfinite().all()) for x in tensors.values()):
        raise InputError("some weights are NaN or infinite", path=folder, fix="train again with a lower optimizer.lr")
    with WithoutWeights():
        model = Transformer(description.model, description.vocab_size, description.ratio)
    model.eval()
    try:
        model.load_state_dict(tensors, assign=True)
    except RuntimeError as error:
        raise InputError(
            f"does not fit its {MODEL_JSON} ({error})", path=folder, fix="copy the folder again"
        ) from None
    return LoadedModel(description, model.to(device), tokenizer, folder, read_lexicon(folder, description))


def _files(weights: dict[str, Tensor], most: int | None) -> Iterator[tuple[str, dict[str, Tensor]]]:
    """(file name, tensors): one file, or as many as it takes to keep each under `most` bytes."""
    parts: list[dict[str, Tensor]] = [{}]
    room = most or 0
    for name, tensor in weights.items():
        if most is not None and parts[-1] and room < tensor.nbytes:
            parts.append({})
            room = most
        parts[-1][name] = tensor
        room -= tensor.nbytes
    if len(parts) == 1:
        yield WEIGHTS, parts[0]
        return
    for number, part in enumerate(parts, 1):
        yield WEIGHTS_PART.format(number, len(parts)), part


def _tensors(folder: Path, hashes: dict[str, str]) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for path in weight_files(folder):
        try:
            check_weights(path, hashes)
            tensors |= load_file(path)
        except (OSError, SafetensorError) as error:
            raise InputError(f"cannot be loaded ({error})", path=path, fix="copy the folder again") from None
    return tensors
