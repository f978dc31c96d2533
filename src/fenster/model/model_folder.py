"""A model folder: all that translation needs, and a card that says what it is. Safetensors and JSON, no pickle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import Field
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from fenster.config import Config, check
from fenster.data.context import ContextConfig
from fenster.data.tokenizer import Tokenizer
from fenster.errors import InputError
from fenster.io.files import atomic_folder
from fenster.io.hashing import file_sha256, unchanged_sha256
from fenster.io.model_json import FORMAT_VERSION, MODEL_JSON, read_model_json
from fenster.language.lexicon import Lexicon
from fenster.model.config import ModelConfig
from fenster.model.init import WithoutWeights
from fenster.model.int8_storage import quantize_state
from fenster.model.quantize import fill
from fenster.model.transformer import Transformer

_WEIGHTS, _TOKENIZER, _CARD = "weights.safetensors", "tokenizer.model", "README.md"
_LEXICON = "lexicon.bin"
_MOST = 15_000_000  # bytes of an exported file, unless one matrix has more
_PART = "weights-{}-of-{}.safetensors"


class Description(Config):
    """What the weights are and where they come from."""

    format_version: int = FORMAT_VERSION
    model: ModelConfig
    vocab_size: int = Field(ge=1)
    ratio: float = Field(gt=0, allow_inf_nan=False)
    """Source over target tokens in training (train_ratio)."""
    context: ContextConfig
    """What the model was trained on; the default of decoding follows from it."""
    system: str
    languages: tuple[str, str] | None = None
    """Codes of the source and the target language; None for models of fenster 0.2 and earlier, which did not say."""
    licence: str | None = None
    bits: Literal[8, 16, 32] = 32
    """Of each number in the files of weights."""
    sha256: dict[str, str] = Field(default_factory=dict)
    """Of each file of weights and the tokenizer; checked on load where they are given."""
    training: dict[str, Any] = Field(default_factory=dict)
    """Data, updates, perplexity, versions: for people, not for the program."""


@dataclass(frozen=True)
class LoadedModel:
    """A loaded model folder."""

    description: Description
    model: Transformer
    tokenizer: Tokenizer
    folder: Path | None = None
    lexicon: Lexicon | None = None
    """The words of its training data, if the folder has them."""


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
        tokenizer.save(temporary / _TOKENIZER)
        hashes[_TOKENIZER] = file_sha256(temporary / _TOKENIZER)
        if lexicon is not None:
            lexicon.save(temporary / _LEXICON)
            hashes[_LEXICON] = file_sha256(temporary / _LEXICON)
        description = description.model_copy(update={"sha256": hashes})
        text = json.dumps(description.model_dump(mode="json"), indent=1, ensure_ascii=False)
        (temporary / MODEL_JSON).write_text(text + "\n", encoding="utf-8")
        (temporary / _CARD).write_text(card, encoding="utf-8")


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
    ours = (MODEL_JSON, _TOKENIZER, _LEXICON, _CARD)
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
        if not (folder / _CARD).is_file():
            raise InputError("a model without a card", path=folder / _CARD, fix="write one, or give --card")
        card = (folder / _CARD).read_text(encoding="utf-8")
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


def read_description(folder: Path) -> Description:
    """What a model folder says about itself."""
    body = read_model_json(folder)
    current = _upgraded(body) if body["format_version"] == 1 else body
    return check(current, Description, folder / MODEL_JSON)


def _upgraded(body: dict[str, Any]) -> dict[str, Any]:
    """A description of format 1 (fenster 0.1) with the names of today."""
    names = {"width": "d_model", "compute": "backend", "reach": "max_distance", "initial": "warm_start"}

    def renamed(section: Any) -> Any:
        return (
            {names.get(key, key): value for key, value in section.items()} if isinstance(section, dict) else section
        )

    model = renamed(body.get("model"))
    if isinstance(model, dict) and model.get("backend") == "kernel":
        model["backend"] = "window-gpu"
    if isinstance(model, dict) and "attention" in model:
        model["attention"] = renamed(model["attention"])
    changed = {"model": model, "training": renamed(body.get("training", {})), "format_version": FORMAT_VERSION}
    return {**body, **changed}


def load_model(folder: Path, device: torch.device | str = "cpu", int8: bool | None = False) -> LoadedModel:
    """The model in evaluation mode on `device`, with its tokenizer. With `int8` it computes in 8 bits, for decoding
    on a CPU; None: if it is stored so, and the device is a CPU."""
    description = read_description(folder)
    tokenizer = Tokenizer.load(folder / _TOKENIZER)
    if description.sha256.get(_TOKENIZER, tokenizer.sha256) != tokenizer.sha256:
        raise InputError(
            "not the model's tokenizer: checksum mismatch", path=folder / _TOKENIZER, fix="copy the folder again"
        )
    if len(tokenizer) != description.vocab_size:
        raise InputError(
            f"has {len(tokenizer)} pieces",
            path=folder / _TOKENIZER,
            expected=f"{description.vocab_size}, as in {MODEL_JSON}",
        )
    if int8 is None:
        int8 = description.bits == 8 and torch.device(device).type == "cpu"
    tensors = _tensors(folder, description.sha256)
    if not all(bool(x.isfinite().all()) for x in tensors.values() if x.is_floating_point()):
        raise InputError("some weights are NaN or infinite", path=folder, fix="train again with a lower optimizer.lr")
    with WithoutWeights():
        model = Transformer(description.model, description.vocab_size, description.ratio)
    try:
        fill(model, tensors, int8=int8)
    except RuntimeError as error:
        raise InputError(
            f"does not fit its {MODEL_JSON} ({error})", path=folder, fix="copy the folder again"
        ) from None
    return LoadedModel(description, model.to(device), tokenizer, folder, read_lexicon(folder, description))


def read_lexicon(folder: Path, description: Description) -> Lexicon | None:
    """The words of a model's training data; None if its description has none."""
    if _LEXICON not in description.sha256:
        return None
    path = folder / _LEXICON
    if not path.is_file() or file_sha256(path) != description.sha256[_LEXICON]:
        raise InputError("is missing or was changed", path=path, fix="copy the folder again")
    return Lexicon.load(path)


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
        yield _WEIGHTS, parts[0]
        return
    for number, part in enumerate(parts, 1):
        yield _PART.format(number, len(parts)), part


def _tensors(folder: Path, hashes: dict[str, str]) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for path in _parts(folder):
        try:
            if path.name in hashes and unchanged_sha256(path) != hashes[path.name]:
                raise InputError("checksum mismatch: the file is corrupted", path=path, fix="copy the folder again")
            tensors |= load_file(path)
        except (OSError, SafetensorError) as error:
            raise InputError(f"cannot be loaded ({error})", path=path, fix="copy the folder again") from None
    return tensors


def _parts(folder: Path) -> list[Path]:
    """The files of weights, those that should be there as well."""
    first = next(iter(sorted(folder.glob("weights-1-of-*.safetensors"))), None)
    count = "" if first is None else first.stem.rsplit("-", 1)[1]
    if (folder / _WEIGHTS).exists() or not count.isdecimal():
        return [folder / _WEIGHTS]
    return [folder / _PART.format(number, count) for number in range(1, int(count) + 1)]
