"""What a training run is. `fenster configs train/europarl/window` explains every key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from fenster.config import Config
from fenster.data.context import ContextConfig, SentenceContext
from fenster.data.sampler import BatchConfig
from fenster.model.config import Checkpointing, ModelConfig

Switch = Annotated[
    Literal["auto", "on", "off"],
    BeforeValidator(lambda value: ("off", "on")[value] if isinstance(value, bool) else value),
]
"""YAML reads on and off as true and false."""
Beta = Annotated[float, Field(ge=0, lt=1)]


class OptimizerConfig(Config):
    """Adam with an inverse-square-root schedule that may end in a cool-down, and the loss."""

    lr: float = Field(default=5e-4, gt=0, allow_inf_nan=False)
    """Learning rate at its peak, when the warm-up ends."""
    warmup: int = Field(default=4000, ge=1)
    """Updates over which the rate rises linearly; then it falls with 1 / sqrt(updates)."""
    cooldown: int | None = Field(default=None, ge=1)
    """The last updates before stop.updates, over which the rate also falls linearly to zero. A run that is
    prolonged with a higher stop.updates continues at the full rate."""
    betas: tuple[Beta, Beta] = (0.9, 0.98)
    epsilon: float = Field(default=1e-9, gt=0)
    clip: float | None = Field(default=1.0, gt=0)
    """Largest norm of the gradient (of the mean loss per token); null never clips."""
    smoothing: float = Field(default=0.1, ge=0, lt=1)
    """Label smoothing."""
    rdrop: float = Field(default=0.0, ge=0, le=100)
    """R-Drop: every batch goes through the model twice, with different dropout, and differences between the
    predictions are penalised with this weight (the paper's alpha; 5 there). It takes twice the time per update; for
    data that plain training overfits."""
    word_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of the source tokens that training hides (as `<unk>`, others in each pass), so that the model learns to
    infer them from the context: Fernandes et al. 2021, "Measuring and Increasing Context Usage"; 0.1 to 0.2
    there. Control symbols are never hidden."""
    anchor: float = Field(default=0.0, ge=0, le=1000)
    """Fine-tuning: after every update, weights are pulled back towards those of the warm start; this times the
    learning rate is the share of the distance that they move."""
    batches: int = Field(default=1, ge=1)
    """Batches per update, over all processes: the run is the same on one process as on several."""
    bad_updates: int = Field(default=20, ge=1)
    """Stop when this many updates in a row had to be skipped because a gradient was NaN or infinite."""


class StopConfig(Config):
    """When to stop; whichever comes first."""

    updates: int | None = Field(default=100_000, ge=1)
    epochs: int | None = Field(default=None, ge=1)
    minutes: float | None = Field(default=None, gt=0)
    """Of training time, resumed parts added up."""
    patience: int | None = Field(default=10, ge=1)
    """Validations in a row without a better perplexity."""

    @model_validator(mode="after")
    def _some(self) -> StopConfig:
        if self.updates is None and self.epochs is None and self.minutes is None and self.patience is None:
            raise ValueError("at least one of updates, epochs, minutes, patience is needed, or training never ends")
        return self


class ValidConfig(Config):
    """Perplexity on held-out documents."""

    split: str = "valid"
    every: int = Field(default=1000, ge=1)
    """Updates between validations."""
    tokens: int = Field(default=8000, ge=1)
    """Token budget of a validation batch."""
    choose: Literal["best", "last"] = "best"
    """The weights that `model/` holds: those of the best perplexity so far, or of the last validation. R-Drop makes
    predictions less sharp, so that perplexity may rise although translations get better."""


class AverageConfig(Config):
    """Optional means over weights."""

    ema: float | None = Field(default=None, gt=0, lt=1)
    """Decay of an exponential moving average, such as 0.999; it is validated and saved instead of the raw weights."""
    last: int | None = Field(default=None, ge=2)
    """At the end, average the weights of this many of the last validations; kept if that validates better."""


class CheckpointConfig(Config):
    every: int = Field(default=1000, ge=1)
    """Updates between checkpoints."""
    minutes: float = Field(default=10, gt=0)
    """Maximum number of minutes between checkpoints."""
    keep: int = Field(default=2, ge=1)
    """Checkpoints kept, newest first: if the newest is damaged, the run resumes from the one before. The best model
    is kept beside them."""


class LogConfig(Config):
    every: int = Field(default=50, ge=1)
    """Updates between lines of the log."""
    tensorboard: bool = False
    """Also write TensorBoard events (pip install tensorboard)."""
    probe: int | None = Field(default=None, ge=1)
    """Every this many updates, measure the share of cross-attention on the current sentence (the paper's Table 1)."""
    probe_tokens: int = Field(default=4000, ge=1)
    """Target tokens of validation text that a probe uses."""


class CardConfig(Config):
    """What the model card says beyond what the run knows."""

    licence: str | None = None
    """Licence of the model; it should follow from that of the data."""
    note: str | None = None
    """About the data, such as where it comes from and what it may be used for."""


class TrainConfig(Config):
    """`fenster train`."""

    data: Path
    """A folder that `fenster prepare` made."""
    output: Path
    """The run's folder; if it holds a run, that resumes."""
    context: ContextConfig = SentenceContext()
    """What a training example is: a sentence, some sentences, or a document."""
    model: ModelConfig = ModelConfig()
    warm_start: Path | None = None
    """A model folder whose weights training starts from: fine-tuning, or a document-level system that starts from a
    sentence-level one. Its tokenizer must be the data's."""
    mixture: dict[str, Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]] = Field(default_factory=dict)
    """How often each document of a training corpus is drawn per epoch, by the corpus's name; those left out have the
    weight they were prepared with."""
    batch: BatchConfig = BatchConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    stop: StopConfig = StopConfig()
    valid: ValidConfig = ValidConfig()
    average: AverageConfig = AverageConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    log: LogConfig = LogConfig()
    card: CardConfig = CardConfig()
    seed: int = Field(default=1, ge=0, lt=1 << 20)
    """Seed of initial weights and dropout; batch.seed orders the data."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """auto: bfloat16 autocast on a GPU, float32 on a CPU. Weights are float32 always."""
    compile: Switch = "auto"
    """torch.compile of the layers; auto: on a GPU."""
    graphs: Switch = "auto"
    """CUDA graphs of whole steps, over batches padded to few shapes; auto: on one GPU, layers not checkpointed."""
    checkpointing: Checkpointing = "none"
    """Recompute in the backward pass instead of storing: ffn, the inside of the feed-forward parts (little time);
    layers, all but each layer's input (least memory; no CUDA graphs)."""

    @model_validator(mode="after")
    def _known_end(self) -> TrainConfig:
        if self.optimizer.cooldown is not None and (self.stop.updates or 0) < self.optimizer.cooldown:
            raise ValueError(
                f"optimizer.cooldown: {self.optimizer.cooldown} counts back from stop.updates, which is "
                f"{self.stop.updates}; it must be a number no smaller than the cool-down"
            )
        return self

    @model_validator(mode="after")
    def _anchored(self) -> TrainConfig:
        if self.optimizer.anchor and self.warm_start is None:
            raise ValueError("optimizer.anchor pulls towards the weights of warm_start: set that to a model")
        return self

    @property
    def system(self) -> str:
        """A name for tables: sentence, concat 2 sent., window 1000 tok. …"""
        variant = self.model.variant
        if self.context.preceding == 0:
            return variant.sentence_label or f"{variant.label} sentence"
        return f"{variant.label} {self.context.label}"


# What may change when a run resumes: nothing that its numbers depend on. Data is compared by content, not by path.
_FREE = ("data", "output", "stop", "checkpoint", "log", "card", "device")


def binding(config: dict[str, Any]) -> dict[str, Any]:
    """The settings that must not change when a run resumes. Where the weights of its warm start came from no longer
    matters, only that there were some."""
    kept = {key: value for key, value in config.items() if key not in _FREE}
    return kept | {"warm_start": None if kept.get("warm_start") is None else "a model"}


def differences(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> list[str]:
    """`key: old -> new` for every key whose value differs, nested keys with dots."""
    changed = []
    for key in sorted(old.keys() | new.keys()):
        before, after, name = old.get(key), new.get(key), f"{prefix}{key}"
        if isinstance(before, dict) and isinstance(after, dict):
            changed += differences(before, after, f"{name}.")
        elif before != after:
            changed.append(f"{name}: {before!r} -> {after!r}")
    return changed
