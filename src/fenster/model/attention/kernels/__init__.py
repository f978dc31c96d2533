"""Triton kernels, and nothing else."""
