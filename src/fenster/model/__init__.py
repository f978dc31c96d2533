"""The model: one transformer with interchangeable attention, positions and alignments.

Shape letters in comments, here and in `decode`: T and S target and source tokens of a packed batch, L tokens of one
sequence, B sequences or searches, N hypotheses (or rows), K hypotheses per search, G groups of hypotheses that share
a cache, M its slots, C candidates or slots including free ones, H heads, D their size, V vocabulary, U sentences of a
batch, E examples.
"""
