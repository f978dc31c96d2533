"""Training that starts from the weights of another model (`warm_start`), and what the new model's folder says of
it."""

from __future__ import annotations

from typing import Any

from fenster.config import Config
from fenster.data.dataset import PreparedData
from fenster.data.manifest import InputRecord
from fenster.errors import ConfigError, InputError
from fenster.model.config import ModelConfig
from fenster.model.init import load_partial
from fenster.model.model_folder import load_model
from fenster.model.transformer import Transformer
from fenster.train.config import TrainConfig


class WarmStart(Config):
    """The model that a run started from, without folders of this machine."""

    system: str
    licence: str | None
    sha256: dict[str, str]
    """Of its files of weights."""
    trained_on: list[str]
    """Names of files, as far as its folder records them, its own and those of its predecessors."""


def start_from(model: Transformer, config: TrainConfig, data: PreparedData) -> tuple[WarmStart, str]:
    """Copy the weights of `config.warm_start` into `model`; also returns what was done, in words."""
    assert config.warm_start is not None
    loaded = load_model(config.warm_start)
    description = loaded.description
    if loaded.tokenizer.sha256 != data.tokenizer.sha256:
        raise InputError(
            f"its tokenizer is not that of the data in {config.data}: the same ids would mean different words",
            path=config.warm_start,
            fix=f"prepare the data with `tokenizer: {{model: {config.warm_start}/tokenizer.model}}`",
        )
    try:
        _compare(description.model, config.model)
        fresh, left = load_partial(model, loaded.model.state_dict())
    except ValueError as error:
        raise ConfigError(
            f"warm_start: {config.warm_start} does not fit this model: {error}",
            expected="the same d_model, heads, norm and feed-forward size; attention, positions and layers "
            "may differ",
        ) from None
    text = f"warm start from {config.warm_start} ({description.system})"
    if fresh:
        text += f"; newly initialised, at least in part: {len(fresh)} ({_some(fresh)})"
    if left:
        text += f"; not used, at least in part: {len(left)} of its weights ({_some(left)})"
    warm_start = WarmStart(
        system=description.system,
        licence=description.licence,
        sha256=description.sha256,
        trained_on=_trained_on(description.training),
    )
    return warm_start, text


def check_anchor(config: TrainConfig, given: WarmStart | None, before: WarmStart | None) -> None:
    """The weights that a run is anchored to must still be those that it began with."""
    if config.optimizer.anchor and given is not None and before is not None and given.sha256 != before.sha256:
        raise ConfigError(
            f"warm_start: {config.warm_start} is not the model that this run started from and is anchored to",
            fix="give that model, or choose another output folder",
        )


def _compare(theirs: ModelConfig, ours: ModelConfig) -> None:
    """Settings that shapes do not show."""
    for name in ("heads", "norm"):
        there, here = getattr(theirs, name), getattr(ours, name)
        if there != here:
            raise ValueError(f"{name} is {there} in that model and {here} in this one")


def _trained_on(training: dict[str, Any]) -> list[str]:
    """A model folder may hold anything there; what cannot be read is not known."""
    try:
        records = [InputRecord.model_validate(record) for record in training["data"]["inputs"]]
        own = [path for record in records if record.split == "train" for path in record.paths]
        before = training.get("warm_start")
        earlier = WarmStart.model_validate(before).trained_on if before else []
        return list(dict.fromkeys([*own, *earlier]))
    except (KeyError, TypeError, ValueError):
        return ["not known"]


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} …"
