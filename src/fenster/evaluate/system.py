"""What was evaluated: a system, as far as it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from fenster.config import Config
from fenster.data.context import SENTENCE_TOKENS

if TYPE_CHECKING:
    from fenster.decode.config import DecodeConfig
    from fenster.model.description import AnyModel

# How results of fenster 0.1 name attention: (label, default strategy).
_FORMER = {
    "sentence": ("sentence-level", "sentence"),
    "full": ("concat", "full-segment"),
    "lst": ("LST", "full-segment"),
    "window": ("window", "sequential"),
}
_TRAINING = ("update", "valid_perplexity", "pairs", "target_tokens")  # what results say of a model's training


class System(Config):
    """Who translated, as far as it is known."""

    name: str
    attention: str | None = None
    label: str | None = None
    """What tables call systems with that attention."""
    context: str | None = None
    """As the paper's tables name it: 0 sent., 2 sent., 1000 tok."""
    context_tokens: float | None = None
    """The same as a number of tokens, a sentence being 25; None if it is not limited."""
    positions: str | None = None
    alignment: str | None = None
    """Of windows, in decoding."""
    window: int | None = None
    focus: bool | None = None
    """True if windows of cross-attention are restricted to the sentence being translated, in decoding."""
    strategy: str | None = None
    """sentence, full-segment or sequential."""
    default_strategy: str | None = None
    """The strategy that fits the system: what the paper reports."""
    beam: int | None = None
    precision: str | None = None
    """Of matrix products on a GPU."""
    int8: bool | None = None
    seed: int | None = None
    """Of training."""
    training: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, value: Any) -> Any:
        """Results of fenster 0.1 lack what follows from their attention and context."""
        if not isinstance(value, dict) or "label" in value or value.get("attention") not in _FORMER:
            return value
        label, strategy = _FORMER[value["attention"]]
        number, _, unit = str(value.get("context", "")).partition(" ")
        tokens = float(number) * (SENTENCE_TOKENS if unit.startswith("sent") else 1) if number.isdecimal() else None
        return {"label": label, "default_strategy": strategy, "context_tokens": tokens, **value}

    @classmethod
    def of(cls, loaded: AnyModel, config: DecodeConfig | None = None, strategy: str | None = None) -> System:
        """A model and its way of decoding."""
        description, variant = loaded.description, loaded.description.model.variant
        alone = description.context.preceding == 0 and variant.window is None
        has_windows = variant.decoding_alignment is not None
        alignment = (config and config.alignment) or variant.decoding_alignment
        focus = variant.focus if config is None or config.focus is None else config.focus
        return cls(
            name=description.system,
            attention="sentence" if alone else description.model.attention.kind,
            label="sentence-level" if alone else variant.label,
            context=description.context.label,
            context_tokens=description.context.tokens,
            positions=description.model.positions,
            alignment=alignment or None,
            window=variant.window,
            strategy=strategy,
            default_strategy="sentence" if alone else variant.default_strategy,
            focus=focus if has_windows else None,
            beam=config and config.beam,
            precision=config.precision if config is not None and loaded.device_type == "cuda" else None,
            int8=None if config is None else loaded.int8,
            seed=description.training.get("config", {}).get("seed"),
            training={key: description.training[key] for key in _TRAINING if key in description.training},
        )

    def renamed(self, name: str | None) -> System:
        return self if name is None else self.model_copy(update={"name": name})
