"""The contract of a decoding strategy: which searches a document becomes, and what their results mean.

A strategy makes a `Session` for each document. A session hands out search requests that can run now, as many as there
is room for, and takes their hypotheses back; the translator batches the requests of all open sessions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from fenster.data.tokenizer import EOS_ID, SEP_ID, Ids
from fenster.decode.config import DecodeConfig
from fenster.decode.search import Hypothesis, SearchRequest
from fenster.errors import ConfigError
from fenster.model.description import AnyModel


class SourceSentence(NamedTuple):
    """A sentence of the source, as the model reads it."""

    ids: Ids
    known: Ids | None = None
    """Its translation, if there is one already: the sentence is context only, and has no number."""
    gold: Ids | None = None
    """A translation that serves as context instead of the model's own."""


@dataclass(frozen=True)
class SourceDocument:
    """What a strategy knows of a document."""

    sentences: Iterable[SourceSentence]
    """In order, each made when it is asked for."""
    done: Sequence[Ids] = ()
    """Translations that exist already of the first sentences that have a number; they are not made again."""

    def read(self) -> list[Ids]:
        """All sentences that have a number."""
        return [sentence.ids for sentence in self.sentences if sentence.known is None]


@dataclass(frozen=True)
class SentenceResult:
    """The hypotheses of one sentence, best first."""

    number: int
    """Of the sentence in its document."""
    hypotheses: Sequence[Hypothesis]
    misaligned: bool = False
    """True for the first sentence of a block that produced a different number of sentences than its source."""


class Session(ABC):
    """One document on its way through a strategy."""

    @abstractmethod
    def requests(self, room: int) -> list[SearchRequest]:
        """At most `room` further requests that can run now; none while earlier ones must be taken back first."""

    @abstractmethod
    def take(self, hypotheses: Sequence[Hypothesis]) -> list[SentenceResult]:
        """The hypotheses of the oldest request that is still out; the sentences that are ready now."""


class Strategy(ABC):
    name: ClassVar[str]
    uses_history: ClassVar[bool] = False
    """True if earlier translations serve as context."""
    single_sentences: ClassVar[bool] = True
    """True if every search is for one sentence."""
    settings: ClassVar[tuple[str, ...]] = ()
    """Of DecodeConfig, those that only this strategy uses."""

    def __init__(self, loaded: AnyModel, config: DecodeConfig) -> None:
        self.loaded, self.config = loaded, config
        self.model, self.context = loaded.description.model, loaded.description.context
        self.ratio = loaded.description.ratio

    @abstractmethod
    def begin(self, document: SourceDocument) -> Session: ...

    def require_history(self) -> None:
        """An error unless earlier translations serve as context."""
        if not self.uses_history:
            raise ConfigError(
                f"{self.name} decoding does not use earlier translations", fix="choose the sequential strategy"
            )

    def max_tokens(self, sentence: Ids) -> int:
        """The length limit of a sentence's translation."""
        return math.ceil(self.config.length_ratio * len(sentence)) + self.config.length_extra


def without_symbols(hypothesis: Hypothesis) -> Ids:
    """The tokens of a single sentence's hypothesis, end symbols left out."""
    return np.array([token for token in hypothesis.ids if token not in (SEP_ID, EOS_ID)], dtype=np.int32)
