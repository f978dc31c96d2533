"""What a model folder says of its model, and what belongs to a model besides its network; without PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import Field

from fenster.config import Config, check
from fenster.data.context import ContextConfig
from fenster.data.tokenizer import Tokenizer
from fenster.errors import InputError
from fenster.io.hashing import file_sha256, unchanged_sha256
from fenster.io.model_json import FORMAT_VERSION, MODEL_JSON, read_model_json
from fenster.language.lexicon import Lexicon
from fenster.model.config import ModelConfig

WEIGHTS, TOKENIZER, CARD, LEXICON = "weights.safetensors", "tokenizer.model", "README.md", "lexicon.bin"
WEIGHTS_PART = "weights-{}-of-{}.safetensors"


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


class AnyModel(Protocol):
    """What decoding needs of a model, whatever computes its network."""

    @property
    def description(self) -> Description: ...

    @property
    def tokenizer(self) -> Tokenizer: ...

    @property
    def lexicon(self) -> Lexicon | None:
        """The words of its training data, if its folder has them."""

    @property
    def folder(self) -> Path | None: ...

    @property
    def device_type(self) -> str:
        """cpu or cuda"""

    @property
    def int8(self) -> bool:
        """True if it computes in 8 bits."""


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


def read_tokenizer(folder: Path, description: Description) -> Tokenizer:
    """The tokenizer that a description names."""
    tokenizer = Tokenizer.load(folder / TOKENIZER)
    if description.sha256.get(TOKENIZER, tokenizer.sha256) != tokenizer.sha256:
        raise InputError(
            "not the model's tokenizer: checksum mismatch", path=folder / TOKENIZER, fix="copy the folder again"
        )
    if len(tokenizer) != description.vocab_size:
        raise InputError(
            f"has {len(tokenizer)} pieces",
            path=folder / TOKENIZER,
            expected=f"{description.vocab_size}, as in {MODEL_JSON}",
        )
    return tokenizer


def read_lexicon(folder: Path, description: Description) -> Lexicon | None:
    """The words of a model's training data; None if its description has none."""
    if LEXICON not in description.sha256:
        return None
    path = folder / LEXICON
    if not path.is_file() or file_sha256(path) != description.sha256[LEXICON]:
        raise InputError("is missing or was changed", path=path, fix="copy the folder again")
    return Lexicon.load(path)


def weight_files(folder: Path) -> list[Path]:
    """The files of weights, those that should be there as well."""
    first = next(iter(sorted(folder.glob("weights-1-of-*.safetensors"))), None)
    count = "" if first is None else first.stem.rsplit("-", 1)[1]
    if (folder / WEIGHTS).exists() or not count.isdecimal():
        return [folder / WEIGHTS]
    return [folder / WEIGHTS_PART.format(number, count) for number in range(1, int(count) + 1)]


def check_weights(path: Path, hashes: dict[str, str]) -> None:
    """An error unless a file of weights is what the description says."""
    if path.name in hashes and unchanged_sha256(path) != hashes[path.name]:
        raise InputError("checksum mismatch: the file is corrupted", path=path, fix="copy the folder again")
