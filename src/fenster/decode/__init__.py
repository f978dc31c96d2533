"""Decoding: documents in, translations out."""
