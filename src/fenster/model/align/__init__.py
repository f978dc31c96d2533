"""Alignments b_i for cross-attention windows. A new one is one new file and one line in ALIGNMENTS."""

from __future__ import annotations

from fenster.model.align.base import Alignment, Place, Steps, rounded
from fenster.model.align.linear import Linear
from fenster.model.align.one_to_one import OneToOne
from fenster.model.align.sent_align import SentAlign
from fenster.model.align.sent_linear import SentLinear
from fenster.model.align.train_ratio import TrainRatio

ALIGNMENTS: dict[str, type[Alignment]] = {
    "linear": Linear,
    "one-to-one": OneToOne,
    "train-ratio": TrainRatio,
    "sent-align": SentAlign,
    "sent-linear": SentLinear,
}

__all__ = ["ALIGNMENTS", "Alignment", "Place", "Steps", "rounded"]
