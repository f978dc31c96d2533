"""Training that begins with the weights of another model (`initial`), and what the new model's folder says of it."""

from __future__ import annotations

from typing import Any

from fenster.config import Config
from fenster.errors import ConfigError, InputError
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
    data: dict[str, Any] | None
    """What it was trained on, as its own folder says."""


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
        fresh, left = take_over(model, saved.model.state_dict())
    except ValueError as error:
        raise ConfigError(
            f"initial: {config.initial} does not fit this model: {error}",
            expected="the same width, heads and feed-forward size; attention, positions and layers may differ",
        ) from None
    text = f"beginning with the weights of {config.initial} ({description.system})"
    if fresh:
        text += f"; {len(fresh)} start anew ({_some(fresh)})"
    if left:
        text += f"; {len(left)} of its weights have no place here ({_some(left)})"
    beginning = Beginning(
        system=description.system,
        licence=description.licence,
        sha256=description.sha256,
        data=description.training.get("data"),
    )
    return beginning, text


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} …"
