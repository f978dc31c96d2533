"""Alignments b_i for cross-attention windows. A new one is one new file and one line in ALIGNMENTS."""

from __future__ import annotations

from fenster.model.attention.alignment.base import Alignment, OneSequence, TargetTokens, round_ratio
from fenster.model.attention.alignment.linear import Linear
from fenster.model.attention.alignment.one_to_one import OneToOne
from fenster.model.attention.alignment.sent_align import SentAlign
from fenster.model.attention.alignment.sent_linear import SentLinear
from fenster.model.attention.alignment.train_ratio import TrainRatio
from fenster.registry import Registry

ALIGNMENTS: Registry[type[Alignment]] = Registry(
    "alignment",
    {
        "linear": Linear,
        "one-to-one": OneToOne,
        "train-ratio": TrainRatio,
        "sent-align": SentAlign,
        "sent-linear": SentLinear,
    },
)


def decoding_alignments() -> list[str]:
    """Those that can be used in decoding, where the target's length is unknown."""
    return [name for name, alignment in ALIGNMENTS.items() if not alignment.needs_length]


__all__ = ["ALIGNMENTS", "Alignment", "OneSequence", "TargetTokens", "decoding_alignments", "round_ratio"]
