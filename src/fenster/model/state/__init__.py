"""Decode-time state: one file for each way of keeping what attention needs, all with the contract of `base`."""

from __future__ import annotations

from fenster.model.state.base import CrossState, Moment, SelfState, Sight, neighbours
from fenster.model.state.growing import Growing
from fenster.model.state.ring import Ring
from fenster.model.state.source import SourceWindow, WholeSource

__all__ = [
    "CrossState",
    "Growing",
    "Moment",
    "Ring",
    "SelfState",
    "Sight",
    "SourceWindow",
    "WholeSource",
    "neighbours",
]
