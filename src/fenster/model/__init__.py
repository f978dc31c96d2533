"""The model: one transformer with interchangeable attention, positions and alignments."""

from fenster.model.config import ModelConfig, preset
from fenster.model.packed import Packed
from fenster.model.transformer import DecoderState, Transformer

__all__ = ["DecoderState", "ModelConfig", "Packed", "Transformer", "preset"]
