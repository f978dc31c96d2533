"""The model: one transformer with interchangeable attention, positions and alignments."""

from fenster.model.config import ModelConfig, preset
from fenster.model.layout import Layout
from fenster.model.transformer import DecoderState, Transformer

__all__ = ["DecoderState", "Layout", "ModelConfig", "Transformer", "preset"]
