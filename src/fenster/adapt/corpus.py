"""The text of an adaptation: a user's translations, or general text that is replayed, each split by document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fenster.data.corpora.pairs import read_documents
from fenster.data.text import normalise
from fenster.document import Document, ParallelDocument
from fenster.errors import InputError

Documents = tuple[ParallelDocument, ...]

_FEWEST_PAIRS = 100
_BLOCK = 20  # pairs that count as a document where there are too few documents to hold some out
_FEWEST_DOCUMENTS = 10
_STEP = 10  # one document in so many is held out
_MOST_HELD_OUT = 300  # pairs: more take longer and tell little more


@dataclass(frozen=True)
class AdaptationCorpus:
    train: Documents
    held_out: Documents


def pairs_in(documents: Iterable[ParallelDocument]) -> int:
    return sum(map(len, documents))


def as_tsv(documents: Iterable[ParallelDocument]) -> str:
    """`document TAB source TAB target`, a blank line between documents."""
    return "\n".join(
        "".join(f"{number}\t{source}\t{target}\n" for source, target in _pairs(document))
        for number, document in enumerate(documents)
    )


def read_own(paths: Sequence[Path]) -> AdaptationCorpus:
    """A user's translations: any corpora, or files of two columns."""
    documents = [one for path in paths for one in _cleaned(read_documents(path))]
    total = pairs_in(documents)
    if total < _FEWEST_PAIRS:
        raise InputError(
            f"{total:,} translations, too few to adapt a model to",
            path=paths[0],
            expected=f"{_FEWEST_PAIRS} or more; a few thousand are better",
            fix="use them as --memory or --history of `fenster translate` instead",
        )
    wanted = min(_MOST_HELD_OUT, max(_BLOCK, total // _STEP))
    if len(documents) < _FEWEST_DOCUMENTS or max(map(len, documents)) > wanted:
        documents = _blocks(documents)
    return _split(documents, wanted)


def read_replayed(paths: Sequence[Path], pairs: int) -> AdaptationCorpus:
    """About as many pairs of general text as given, taken evenly from all of it, and held-out text beside them."""
    blocks = _blocks(one for path in paths for one in _cleaned(read_documents(path)))
    if pairs_in(blocks) < _FEWEST_PAIRS:
        raise InputError(
            f"{pairs_in(blocks):,} pairs of general text", path=paths[0], expected=f"{_FEWEST_PAIRS} or more"
        )
    wanted = pairs + _MOST_HELD_OUT
    chosen = blocks[:: max(1, pairs_in(blocks) // wanted)]
    return _split(chosen, min(_MOST_HELD_OUT, max(_BLOCK, pairs_in(chosen) // _STEP)))


def _cleaned(documents: Iterable[ParallelDocument]) -> list[ParallelDocument]:
    """Without pairs that lack text on a side."""
    cleaned = (
        _document([(normalise(source), normalise(target)) for source, target in _pairs(one) if source and target])
        for one in documents
    )
    return [one for one in cleaned if len(one)]


def _split(documents: Sequence[ParallelDocument], wanted: int) -> AdaptationCorpus:
    """`wanted` pairs are held out, in documents taken evenly from all. What is held out is not trained on, not even
    where it occurs in another document."""
    held_out: dict[int, ParallelDocument] = {}
    for number in [*range(_STEP // 2, len(documents), _STEP), *range(len(documents))]:
        if pairs_in(held_out.values()) >= wanted or len(held_out) >= len(documents) - 1:
            break
        held_out.setdefault(number, documents[number])
    seen = {_key(pair) for document in held_out.values() for pair in _pairs(document)}
    train = (
        _document([pair for pair in _pairs(document) if _key(pair) not in seen])
        for number, document in enumerate(documents)
        if number not in held_out
    )
    return AdaptationCorpus(tuple(one for one in train if len(one)), tuple(held_out.values()))


def _blocks(documents: Iterable[ParallelDocument]) -> list[ParallelDocument]:
    """Documents cut into pieces of some pairs."""
    listed = (_pairs(document) for document in documents)
    return [_document(pairs[at : at + _BLOCK]) for pairs in listed for at in range(0, len(pairs), _BLOCK)]


def _pairs(document: ParallelDocument) -> list[tuple[str, str]]:
    return list(zip(document.source.texts, document.target.texts, strict=True))


def _document(pairs: Sequence[tuple[str, str]]) -> ParallelDocument:
    source, target = (Document.of("", [pair[side] for pair in pairs]) for side in (0, 1))
    return ParallelDocument(source, target)


def _key(pair: tuple[str, str]) -> tuple[str, ...]:
    return tuple(re.sub(r"\W+", " ", text).casefold() for text in pair)
