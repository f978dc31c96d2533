"""Attention: masks, variants, alignments, backends, kernels and caches."""
