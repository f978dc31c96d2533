"""Decoding strategies. A new one is one new file and one line in STRATEGIES."""

from __future__ import annotations

from fenster.decode.config import DecodeConfig
from fenster.decode.strategies.base import SentenceResult, Session, SourceDocument, SourceSentence, Strategy
from fenster.decode.strategies.full_segment import FullSegmentStrategy
from fenster.decode.strategies.sentence import SentenceStrategy
from fenster.decode.strategies.sequential import SequentialStrategy
from fenster.errors import ConfigError
from fenster.model.description import AnyModel
from fenster.registry import Registry

AUTO = "auto"
STRATEGIES: Registry[type[Strategy]] = Registry(
    "decoding strategy",
    {
        "sentence": SentenceStrategy,
        "full-segment": FullSegmentStrategy,
        "sequential": SequentialStrategy,
    },
)


def make_strategy(loaded: AnyModel, config: DecodeConfig) -> Strategy:
    """The strategy that the settings name, or the one that fits the model; settings without effect are refused."""
    name = config.strategy
    if name == AUTO:
        alone = loaded.description.context.preceding == 0
        name = "sentence" if alone else loaded.description.model.variant.default_strategy
    strategy = STRATEGIES[name](loaded, config)
    for other in STRATEGIES.values():
        for setting in other.settings:
            changed = getattr(config, setting) != DecodeConfig.model_fields[setting].default
            if changed and setting not in strategy.settings:
                raise ConfigError(f"{setting} is for {other.name} decoding, but this is {name}", fix="leave it out")
    if config.register == "steady" and not strategy.single_sentences:
        raise ConfigError(
            f"register steady has no effect on {name} decoding, which searches several sentences at once",
            fix="choose the sequential strategy, or register formal or informal",
        )
    return strategy


__all__ = [
    "AUTO",
    "STRATEGIES",
    "SentenceResult",
    "Session",
    "SourceDocument",
    "SourceSentence",
    "Strategy",
    "make_strategy",
]
