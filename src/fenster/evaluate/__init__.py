"""Metrics on plain text files. Nothing here knows models: any system's translations can be evaluated."""
