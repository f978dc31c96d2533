"""Searches with PyTorch, on any device and with any model."""
