"""The contract of an attention variant: its settings, the masks of its three kinds of module, its caches in decoding,
and what the rest of the system must know about it. Nothing outside a variant's file asks for its name. Masks and
caches are imported where they are made, since what a model is can be known without PyTorch.

A module with several masks computes one context vector for each and concatenates them (LST does).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from fenster.config import Config

if TYPE_CHECKING:
    from torch import Tensor

    from fenster.model.attention.cache import CrossAttentionCache, SelfAttentionCache
    from fenster.model.attention.mask import AttentionMask
    from fenster.model.layout import Layout


class AttentionConfig(Config):
    """Base of the variants' settings; `kind` names the variant."""

    kind: str


AnyAttentionConfig = TypeVar("AnyAttentionConfig", bound=AttentionConfig)


@dataclass(frozen=True)
class LayerMasks:
    """The masks of one forward pass, shared by all layers."""

    encoder: tuple[AttentionMask, ...]
    decoder: tuple[AttentionMask, ...]
    cross: tuple[AttentionMask, ...]


@dataclass(frozen=True)
class ReceptiveField:
    """How far back the next prediction can depend on anything, in tokens. What lies further back may be left out."""

    target: int
    """Target tokens before the predicted one."""
    cross: int
    """Target tokens before the predicted one whose cross-attention matters."""
    source: int
    """Source tokens before the lowest center of those cross-attentions."""


class Variant(ABC, Generic[AnyAttentionConfig]):
    """One attention variant. Layers know only this contract."""

    Config: ClassVar[type[AttentionConfig]]
    """Its settings, `model.attention` in a config."""
    label: ClassVar[str]
    """What tables call systems with it."""
    sentence_label: ClassVar[str] = ""
    """The same for sentence-level systems, if that is more than "LABEL sentence"."""
    default_strategy: ClassVar[str] = "full-segment"
    """How document-level models with it decode unless told otherwise."""
    branches: ClassVar[int] = 1
    """Masks of a self-attention module; its output projection is this many times wider."""
    relative_positions: ClassVar[bool] = True
    """False if relative positions are not defined for it."""
    compiled: ClassVar[bool] = False
    """True if the compiled library decodes with it: queries see all keys or those in `window`, and with two branches
    the second sees only the query's own sentence. Other variants decode in PyTorch. Not inherited, since a variant
    made from another may mask otherwise."""

    def __init_subclass__(cls) -> None:
        cls.compiled = cls.__dict__.get("compiled", False)

    def __init__(self, config: AnyAttentionConfig) -> None:
        self.config = config

    @property
    def max_distance(self) -> int | None:
        """The largest distance with a relative vector of its own; None without relative positions."""
        return None

    @property
    def alignment(self) -> str | None:
        """The alignment of cross-attention in training and scoring; None if it uses none."""
        return None

    @property
    def decoding_alignment(self) -> str | None:
        """The alignment in decoding, where the target's length is unknown; None if it uses none."""
        return None

    @property
    def focus(self) -> bool:
        """True if decoding restricts cross-attention to the sentence being translated by default."""
        return False

    @property
    def window(self) -> int | None:
        """Keys on either side that a query sees; None if that is not limited."""
        return None

    def receptive_field(self, encoder_layers: int, decoder_layers: int) -> ReceptiveField | None:
        """What the next prediction can depend on; None for all of the document."""
        return None

    def effective_context(self, encoder_layers: int, decoder_layers: int) -> int | None:
        """Tokens that can reach a prediction through all layers; None if that is not limited."""
        return None

    def describe(self) -> str:
        """For model cards."""
        return f"{self.config.kind} attention"

    @abstractmethod
    def encoder(self, source: Layout) -> tuple[AttentionMask, ...]: ...

    @abstractmethod
    def decoder(self, target: Layout) -> tuple[AttentionMask, ...]: ...

    @abstractmethod
    def cross(
        self, source: Layout, target: Layout, center: Tensor, focused: Tensor | None = None
    ) -> tuple[AttentionMask, ...]:
        """`center` [T] is the alignment of every target token, `focused` [T] marks those whose windows are restricted
        to the sentence being translated; variants without windows ignore both."""

    @abstractmethod
    def empty_cache(self, rows: Sequence[Tensor]) -> SelfAttentionCache:
        """The decoder's self-attention cache before the first token, for hypotheses whose keys and values
        [N, 2, H, D] in each layer will be like `rows`."""

    @abstractmethod
    def filled_cache(self, kv: Sequence[Tensor], target: Layout) -> SelfAttentionCache:
        """The same after whole sequences, one per hypothesis: keys and values [T, 2, H, D] of each layer."""

    @abstractmethod
    def source_cache(self, kv: Sequence[Tensor], source: Layout, focus: bool) -> CrossAttentionCache:
        """The cross-attention cache over source keys and values [S, 2, H, D] of each layer. With `focus` windows are
        restricted to the sentence being translated; variants without windows ignore it."""


AnyVariant = Variant[Any]
