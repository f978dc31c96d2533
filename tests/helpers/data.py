"""Small documents and splits."""

import numpy as np

from fenster.data.dataset import Shard, Side, Split
from fenster.data.manifest import SplitRecord
from fenster.document import Document, ParallelDocument


def pair(id: str, *lines: tuple[str, str]) -> ParallelDocument:
    """A parallel document from (source, target) tuples."""
    return ParallelDocument(
        Document.of(id, (line[0] for line in lines)), Document.of(id, (line[1] for line in lines))
    )


def make_split(*shards: list[list[tuple[int, int]]]) -> Split:
    """Shards of documents of sentences, each sentence given by its (source, target) length; ids count up."""
    made = []
    for documents in shards:
        lengths = [length for document in documents for length in document]
        sides = []
        for side in (0, 1):
            sizes = [length[side] for length in lengths]
            starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
            sides.append(Side((np.arange(starts[-1]) + 10).astype(np.uint16), starts))
        ends = np.cumsum([len(document) for document in documents])
        names = [f"d{n}" for n in range(len(documents))]
        made.append(Shard(sides[0], sides[1], np.concatenate([[0], ends]).astype(np.int64), names))
    record = SplitRecord.model_construct()  # type: ignore[call-arg]  # nothing here reads it
    return Split("train", record, tuple(made))
