"""Measurements of speed and memory, side by side in one run. One file a subject."""
