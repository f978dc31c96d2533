"""Benchmarks: speed and memory, side by side in one run. Nothing imports this package."""
