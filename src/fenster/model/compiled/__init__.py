"""Models on a CPU without PyTorch: the compiled library of `fenster/native` encodes, decodes and searches.

What it computes is what `Transformer` defines; tests hold the two against each other."""
