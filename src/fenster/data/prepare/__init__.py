"""`fenster prepare`: raw parallel documents to a folder of prepared data.

Steps: hash the inputs (the same inputs and settings are a no-op), learn the tokenizer, encode
every split on all cores, filter training pairs, write shards and the manifest. All of it is written under a
temporary name and renamed at the end: the output folder is either complete or absent.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import sentencepiece

from fenster import __version__
from fenster.data.dataset import TOKENIZER, PreparedData
from fenster.data.manifest import FORMAT_VERSION, CorpusRecord, InputRecord, Manifest
from fenster.data.prepare.config import PrepareConfig
from fenster.data.prepare.filters import bad_text
from fenster.data.prepare.inputs import record, stream
from fenster.data.prepare.split import Ratio, encode_split
from fenster.data.tokenizer import Tokenizer, learn
from fenster.errors import FensterError, InputError
from fenster.io.files import atomic_folder
from fenster.io.hashing import digest, file_sha256
from fenster.io.progress import bar

# The files of a prepared folder: what may be replaced.
_OURS = re.compile(r"manifest\.json|tokenizer\.model|[\w-]+/\d{5}/(\w+\.npy|names\.json)")


@dataclass(frozen=True)
class Outcome:
    """`made` is False if the folder existed already, from the same inputs and settings."""

    prepared: PreparedData
    made: bool


def prepare(config: PrepareConfig, *, force: bool = False) -> Outcome:
    """Make `config.output`. Raises rather than replace a folder made from something else, unless `force`."""
    inputs = [record(split, corpus) for split, corpora in config.splits.items() for corpus in corpora]
    fingerprint = _fingerprint(config, inputs)
    if config.output.exists():
        existing = _existing(config.output, force)
        if existing is not None and existing.manifest.fingerprint == fingerprint and not force:
            return Outcome(existing, made=False)
        if existing is not None and not force:
            raise FensterError(
                "exists already, made from different inputs or settings",
                path=config.output,
                fix="choose another output, or --force to replace it",
            )
    with atomic_folder(config.output) as folder:
        workers = config.workers or os.cpu_count() or 1
        tokenizer = _tokenizer(config)
        tokenizer.save(folder / TOKENIZER)
        ratio = Ratio(config.ratio_limit)
        splits = {
            name: encode_split(name, corpora, config, tokenizer, workers, folder / name, ratio)
            for name, corpora in config.splits.items()
        }
        Manifest(
            format_version=FORMAT_VERSION,
            fenster_version=__version__,
            fingerprint=fingerprint,
            config=config.model_dump(mode="json"),
            inputs=tuple(inputs),
            tokenizer_sha256=tokenizer.sha256,
            vocab_size=len(tokenizer),
            train_ratio=ratio.result(),
            splits=splits,
            languages=config.languages,
            corpora=tuple(CorpusRecord(name=corpus.label, weight=corpus.weight) for corpus in config.splits["train"]),
        ).save(folder)
    return Outcome(PreparedData(config.output, verify=False), made=True)


def _existing(folder: Path, force: bool) -> PreparedData | None:
    """What exists already; None for nothing of value. A folder that holds anything else is never replaced."""
    if not folder.is_dir():
        raise FensterError("is not a folder", path=folder, fix="choose another output")
    files = [path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir()]
    foreign = [str(path) for path in files if not _OURS.fullmatch(path.as_posix())]
    if foreign:
        raise FensterError(
            f"holds files that `fenster prepare` did not make, such as {min(foreign)}",
            path=folder,
            fix="choose another output",
        )
    if not files:
        return None
    try:
        return PreparedData(folder)
    except InputError:
        if force:
            return None
        raise


def _fingerprint(config: PrepareConfig, inputs: Sequence[InputRecord]) -> str:
    """Inputs by content, settings, versions: not paths, not the number of workers."""
    settings = config.model_dump(mode="json", exclude={"output", "splits", "workers"})
    given = config.tokenizer.model
    settings["tokenizer"]["model"] = file_sha256(given) if given and given.is_file() else None
    settings["filters"]["held_out"] = [record("held_out", corpus).sha256 for corpus in config.filters.held_out]
    return digest(
        {
            "format": FORMAT_VERSION,
            "sentencepiece": sentencepiece.__version__,
            "settings": settings,
            "inputs": [(one.split, one.format, one.sha256) for one in inputs],
            "corpora": [
                (corpus.label, corpus.weight, corpus.cap, corpus.variants) for corpus in config.splits["train"]
            ],
        }
    )


def _tokenizer(config: PrepareConfig) -> Tokenizer:
    if config.tokenizer.model is not None:
        return Tokenizer.load(config.tokenizer.model)
    sample = _sample(config)
    with bar(f"learning {config.tokenizer.vocab_size} pieces from {len(sample):,} sentences", 0):
        return learn(sample, config.tokenizer)


def _sample(config: PrepareConfig) -> list[str]:
    """At most `tokenizer.sample` training sentences, each equally likely (a reservoir)."""
    rng = random.Random(config.tokenizer.seed)
    sample: list[str] = []
    seen = 0
    for _, document in stream("reading for the tokenizer", config.splits["train"]):
        for index in range(len(document)):
            error = bad_text(document, index)
            if error is not None:
                if config.filters.bad_text == "error":
                    raise error
                continue
            for side in (document.source, document.target):
                text = side.segments[index].text
                seen += 1
                if len(sample) < config.tokenizer.sample:
                    sample.append(text)
                else:
                    slot = int(rng.random() * seen)
                    if slot < config.tokenizer.sample:
                        sample[slot] = text
    return sample
