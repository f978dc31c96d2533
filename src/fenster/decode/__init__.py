"""Decoding: beam search on ids, strategies for documents, forced scoring."""
