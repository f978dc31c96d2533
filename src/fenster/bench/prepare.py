"""How fast preparation is against sentencepiece alone, and whether its memory grows with the corpus.

The baseline is sentencepiece's own multi-threaded encoding of the same sentences, held in memory, by the same
model on the same cores. Ours is the whole of `fenster prepare` but BPE learning: reading and decompressing,
checking, encoding, filtering, hashing and writing. Each runs in a process of its own, so that peak memory is
its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import sentencepiece

from fenster.bench.memory import own_memory
from fenster.data.corpora import FORMATS, read_corpus
from fenster.data.prepare import prepare
from fenster.data.prepare.config import CorpusConfig, PrepareConfig
from fenster.data.tokenizer import TokenizerConfig, learn
from fenster.document import ParallelDocument

_LEARN_FROM = 200_000  # sentences; how the model was learned does not matter for the comparison


@dataclass(frozen=True)
class Row:
    """One size of corpus: both ways, sentences per second (a pair is two), and peak memory of a process."""

    pairs: int
    alone: float
    ours: float
    peak_main: int
    peak_worker: int

    @property
    def share(self) -> float:
        return self.ours / self.alone


def _documents(corpora: Sequence[Path]) -> Iterator[ParallelDocument]:
    for path in corpora:
        yield from read_corpus([path])


def run(
    corpora: Sequence[Path], sizes: Sequence[int], *, threads: int, repeats: int, vocab_size: int
) -> Iterator[Row]:
    """Measure each size; the best of `repeats` alternating runs of each counts."""
    with tempfile.TemporaryDirectory(prefix="fenster-bench-") as name:
        folder = Path(name)
        sample: list[str] = []
        for document in _documents(corpora):
            sample += document.source.texts + document.target.texts
            if len(sample) >= _LEARN_FROM:
                break
        learn(sample, TokenizerConfig(vocab_size=vocab_size)).save(folder / "bench.model")
        for size in sizes:
            part = folder / f"{size}.tsv.xz"
            pairs = _write_part(corpora, size, part)
            alone, ours = [], []
            for number in range(repeats):
                alone.append(_child("alone", folder, part, threads, number))
                ours.append(_child("ours", folder, part, threads, number))
            best = max(ours, key=lambda row: row["speed"])
            yield Row(
                pairs,
                max(row["speed"] for row in alone),
                best["speed"],
                int(max(row["peak"] for row in ours)),
                int(max(row["peak_child"] for row in ours)),
            )


def _write_part(corpora: Sequence[Path], size: int, path: Path) -> int:
    """The first documents with about `size` pairs, compressed like the originals."""
    count = 0

    def some() -> Iterator[ParallelDocument]:
        nonlocal count
        for document in _documents(corpora):
            if count >= size:
                return
            count += len(document)
            yield document

    write = FORMATS["tsv"].write
    assert write is not None
    write(some(), [path])
    return count


def _child(way: str, folder: Path, part: Path, threads: int, number: int) -> dict[str, float]:
    command = [
        sys.executable,
        "-m",
        "fenster.bench.prepare",
        way,
        str(folder),
        str(part),
        str(threads),
        str(number),
    ]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _alone(folder: Path, part: Path, threads: int) -> float:
    """Sentences a second of sentencepiece itself, over chunks like ours so that results need not pile up."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "bench.model"))
    texts = [text for d in _documents([part]) for side in (d.source, d.target) for text in side.texts]
    began = time.perf_counter()
    stream = iter(texts)
    while chunk := list(islice(stream, 20_000)):
        processor.Encode(chunk, num_threads=threads)
    return len(texts) / (time.perf_counter() - began)


def _ours(folder: Path, part: Path, threads: int, number: int) -> float:
    config = PrepareConfig(
        output=folder / f"{part.name}.{number}",
        splits={"train": (CorpusConfig(paths=(part,)),)},
        tokenizer=TokenizerConfig(model=folder / "bench.model"),
        filters=PrepareConfig.model_fields["filters"].default.model_copy(
            update={"bad_text": "remove", "max_tokens": 1000}
        ),
        workers=threads,
    )
    began = time.perf_counter()
    record = prepare(config).prepared.manifest.splits["train"]
    return 2 * record.read_sentences / (time.perf_counter() - began)


def _main() -> None:
    way, folder, part, threads, number = sys.argv[1:]
    if way == "alone":
        speed = _alone(Path(folder), Path(part), int(threads))
    else:
        speed = _ours(Path(folder), Path(part), int(threads), int(number))
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(json.dumps({"speed": speed, "peak": own_memory().peak, "peak_child": child}))


if __name__ == "__main__":
    _main()
