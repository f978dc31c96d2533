"""Which searches a document becomes: strategy, context and limits, as the settings and the model say."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass

from fenster.context import begins
from fenster.decode import full_segment, sequential
from fenster.decode.config import DecodeConfig
from fenster.decode.full_segment import Block
from fenster.decode.job import Job
from fenster.decode.sequential import Reading
from fenster.errors import ConfigError
from fenster.model.saved import Saved
from fenster.tokenize import Ids


@dataclass(frozen=True)
class Plan:
    saved: Saved
    config: DecodeConfig

    @property
    def strategy(self) -> str:
        if self.config.strategy != "auto":
            return self.config.strategy
        description = self.saved.description
        if description.context.kind == "sentence":
            return "sentence"
        return "sequential" if description.model.attention.kind == "window" else "full-segment"

    def check(self) -> None:
        """An error where a setting would do nothing."""
        config, strategy = self.config, self.strategy
        for name, given, wanted in (
            ("context", config.context != "auto", "sequential"),
            ("lookahead", config.lookahead > 0, "sequential"),
            ("count", config.count != "forced", "full-segment"),
        ):
            if given and strategy != wanted:
                raise ConfigError(f"{name} is for {wanted} decoding, and this is {strategy}", fix="leave it out")

    def next(self, reading: Reading) -> Job:
        """The search for a reading's next sentence, with as much context as the settings say."""
        number, context, trained = reading.next, self.config.context, self.saved.description.context
        first = 0
        if context == "auto" and trained.kind == "adjacent":
            context = trained.k
        elif context == "auto":
            context = "document" if self.saved.model.config.positions == "relative" else "part"
        if isinstance(context, int):
            first = max(0, number - context)
        elif context == "part":
            if not reading.parts:
                cut = full_segment.blocks(reading.source, trained, self.saved.model.ratio)
                reading.parts = [block.first for block in cut]
            first = reading.parts[bisect_right(reading.parts, number) - 1]
        bod = begins(trained, first, number - first)
        return self.in_context(reading, first=first, bod=bod, lookahead=self.config.lookahead)

    def in_context(self, reading: Reading, *, first: int, bod: bool, lookahead: int = 0) -> Job:
        """The same with context from sentence `first` on."""
        return sequential.job(
            self.saved.model,
            reading,
            self._most(reading.source[reading.next]),
            first=first,
            bod=bod,
            lookahead=lookahead,
            alignment=self.config.alignment,
        )

    def cut(self, source: list[Ids]) -> list[Block]:
        """What is searched at once where that is not a single sentence in context."""
        if self.strategy == "sentence":
            trained = self.saved.description.context
            return [Block(number, number + 1, begins(trained, number, 0)) for number in range(len(source))]
        return full_segment.blocks(source, self.saved.description.context, self.saved.model.ratio)

    def whole(self, source: list[Ids], block: Block, *, forced: bool) -> Job:
        """The search for all sentences of a block."""
        return block.job(source, [self._most(each) for each in source[block.first : block.last]], forced=forced)

    def _most(self, sentence: Ids) -> int:
        return math.ceil(self.config.length_ratio * len(sentence)) + self.config.length_extra
