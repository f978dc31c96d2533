"""Options that every command with a model shares: which one, and how it decodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cyclopts import Parameter

from fenster.config import check
from fenster.errors import ConfigError

if TYPE_CHECKING:
    from fenster.decode.config import DecodeConfig
    from fenster.evaluate.result import System
    from fenster.model.saved import Saved

# Imports that bring torch stand inside the functions: the rest of the command line must not wait for it.


_TRAINING = ("update", "valid_perplexity", "pairs", "target_tokens")  # what results tell of a model's training


@Parameter(name="*")
@dataclass(frozen=True)
class Decoding:
    """How a model decodes."""

    strategy: Literal["auto", "sentence", "full-segment", "sequential"] = "auto"
    "sentence | full-segment | sequential; auto takes what fits the model."
    beam: int = 12
    "Hypotheses kept; 1 is greedy."
    context: str = "auto"
    "Sequential decoding: preceding sentences to give, or part, or document."
    count: Literal["forced", "split", "repair"] = "forced"
    "Full-segment decoding: how one translation a sentence is reached."
    lookahead: int = 0
    "Sequential decoding: following source sentences that the model may see."
    alignment: str | None = None
    "Around which source token windows lie; the model's own if left out."
    focus: bool | None = None
    "Windows of cross-attention keep to the sentence being translated (beyond the paper); as the model says."
    precision: Literal["tf32", "float32"] = "tf32"
    "Of matrix products on a GPU: tf32 is faster, float32 more exact."
    int8: bool | None = None
    "8-bit weights: several times faster on a CPU, a little less exact; the default for models exported in 8 bits."
    lanes: int = 32
    "Searches at once, over documents."

    @property
    def settings(self) -> dict[str, Any]:
        if not self.context.isdecimal() and self.context not in ("auto", "part", "document"):
            raise ConfigError(
                f"--context is {self.context!r}", expected="a number of sentences, part, document or auto"
            )
        return {
            "strategy": self.strategy,
            "beam": self.beam,
            "context": int(self.context) if self.context.isdecimal() else self.context,
            "count": self.count,
            "lookahead": self.lookahead,
            "alignment": self.alignment,
            "focus": self.focus,
            "precision": self.precision,
            "int8": self.int8,
            "lanes": self.lanes,
        }

    @property
    def config(self) -> DecodeConfig:
        from fenster.decode.config import DecodeConfig

        return check(self.settings, DecodeConfig, what="the options of decoding")


def model_folder(model: Path | None, system: str | None = None) -> Path:
    """The model folder that `--model` and `--system` mean; without either, the one that ships with the package."""
    if model is None:
        from fenster.model.saved import DEFAULT

        if system is not None or not DEFAULT.is_dir():
            raise ConfigError("which model?", fix="give --model FOLDER")
        return DEFAULT
    if system is None:
        return model
    for folder in (model / system / "model", model / system):
        if (folder / "model.json").is_file():
            return folder
    have = ", ".join(sorted(path.parent.parent.name for path in model.glob("*/model/model.json"))) or "none"
    raise ConfigError(f"no system {system!r}", path=model, expected=f"one of those there: {have}")


def suited(decoding: Decoding, folder: Path) -> Decoding:
    """For single items in context: systems with some sentences of context go sentence by sentence unless told
    otherwise, since blocks would cut items off from the context that they are given."""
    from fenster.model.saved import read_description

    adjacent = read_description(folder).context.kind == "adjacent"
    return replace(decoding, strategy="sequential") if adjacent and decoding.strategy == "auto" else decoding


def described(saved: Saved, config: DecodeConfig | None = None, strategy: str | None = None) -> System:
    """A model and its way of decoding, for results."""
    from fenster.evaluate.result import System

    description = saved.description
    model, context = description.model, description.context
    window = model.attention if model.attention.kind == "window" else None
    sentences = {"sentence": "0 sent.", "adjacent": f"{getattr(context, 'k', '')} sent."}
    limit = getattr(context, "limit", None)
    focus = saved.model.focus if config is None or config.focus is None else config.focus
    alignment = (config and config.alignment) or (window and window.decoding_alignment)
    return System(
        name=description.system,
        attention="sentence" if context.kind == "sentence" and window is None else model.attention.kind,
        context=sentences.get(context.kind, f"{limit} tok." if limit else "document"),
        positions=model.positions,
        alignment=alignment or None,
        window=window and window.window,
        strategy=strategy,
        focus=None if window is None else focus,
        beam=config and config.beam,
        precision=config.precision if config is not None and saved.model.embedding.weight.is_cuda else None,
        int8=None if config is None else saved.model.projection is not None,
        training={key: description.training[key] for key in _TRAINING if key in description.training},
    )
