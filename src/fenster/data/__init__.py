"""Data: from raw text to packed batches of token ids."""
