"""Training that begins with the weights of another model (`initial`), and what the new model's folder says of it."""

from __future__ import annotations

from typing import Any

from fenster.config import Config
from fenster.errors import ConfigError, InputError
from fenster.manifest import InputRecord
from fenster.model.config import ModelConfig
from fenster.model.initial import take_over
from fenster.model.saved import load_model
from fenster.model.transformer import Transformer
from fenster.shards import Prepared
from fenster.train.config import TrainConfig


class Beginning(Config):
    """The model that a run began with, without folders of this machine."""

    system: str
    licence: str | None
    sha256: dict[str, str]
    """Of its files of weights."""
    trained_on: list[str]
    """Names of files, as far as its folder tells, and of those that came before it."""


def begin_with(model: Transformer, config: TrainConfig, data: Prepared) -> tuple[Beginning, str]:
    """Give `model` the weights of `config.initial`; what was done, in words as well."""
    assert config.initial is not None
    saved = load_model(config.initial)
    description = saved.description
    if saved.tokenizer.sha256 != data.tokenizer.sha256:
        raise InputError(
            f"its tokenizer is not that of the data in {config.data}: the same ids would be other words",
            path=config.initial,
            fix=f"prepare the data with `tokenizer: {{model: {config.initial}/tokenizer.model}}`",
        )
    try:
        _compare(description.model, config.model)
        fresh, left = take_over(model, saved.model.state_dict())
    except ValueError as error:
        raise ConfigError(
            f"initial: {config.initial} does not fit this model: {error}",
            expected="the same width, heads, norm and feed-forward size; attention, positions and layers may differ",
        ) from None
    text = f"beginning with the weights of {config.initial} ({description.system})"
    if fresh:
        text += f"; {len(fresh)} start anew, at least in part ({_some(fresh)})"
    if left:
        text += f"; {len(left)} of its own have no place here, at least in part ({_some(left)})"
    beginning = Beginning(
        system=description.system,
        licence=description.licence,
        sha256=description.sha256,
        trained_on=_trained_on(description.training),
    )
    return beginning, text


def _compare(theirs: ModelConfig, ours: ModelConfig) -> None:
    """What shapes do not tell."""
    for name in ("heads", "norm"):
        there, here = getattr(theirs, name), getattr(ours, name)
        if there != here:
            raise ValueError(f"{name} is {there} there and {here} here")


def _trained_on(training: dict[str, Any]) -> list[str]:
    """Whoever made the model may have written anything there; what cannot be read is not known."""
    try:
        records = [InputRecord.model_validate(each) for each in training["data"]["inputs"]]
        own = [path for record in records if record.split == "train" for path in record.paths]
        before = training.get("initial")
        return own + (Beginning.model_validate(before).trained_on if before else [])
    except (KeyError, TypeError, ValueError):
        return ["not known"]


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} …"
