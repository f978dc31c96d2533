"""Evaluation: metrics, significance, results and reports. Metrics never load a model."""
