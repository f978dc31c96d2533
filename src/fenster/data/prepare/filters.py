"""What is removed from training documents, and what becomes of the documents around it.

Each pair is removed for one reason, the first that applies in the order of REASONS, so that the counts add up: read
= kept + removed. What `Filter.judge` finds is applied by `Removal`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fenster.data.prepare.config import FilterConfig
from fenster.data.text import why_refused
from fenster.data.tokenizer import Longs
from fenster.document import ParallelDocument
from fenster.errors import InputError

REASONS = ("bad_text", "empty", "held_out", "max_tokens", "max_ratio")
KEPT = 0
CODES = {reason: number for number, reason in enumerate(REASONS, start=1)}

Codes = npt.NDArray[np.uint8]

_SPARED = 10  # pairs of up to this many tokens per side are never judged by their ratio


_FIX = "clean the file, or set filters.bad_text: remove (pairs are then removed and counted)"


def bad_text(document: ParallelDocument, index: int, fix: str = _FIX) -> InputError | None:
    """Why pair `index` is refused, as an error that names file and line; None if it is not."""
    sides = [(document.source, "source"), (document.target, "target")]
    sides += [(side, "reference") for side in document.references]
    for side, kind in sides:
        why = why_refused(side.segments[index].text)
        if why is not None:
            path, line = document.place(index, target=kind == "target")
            return InputError(
                f"{kind} segment {index + 1} of document {document.id!r} holds {why}",
                path=path,
                line=line,
                expected="text without control characters and reserved symbols",
                fix=fix,
            )
    return None


class Filter:
    """The training filters; `held_out` is read once when it is made."""

    def __init__(self, config: FilterConfig, held_out: Iterable[ParallelDocument] = ()) -> None:
        self.config = config
        self._held_out = {
            (source.casefold(), target.casefold())
            for document in held_out
            for source, target in zip(document.source.texts, document.target.texts, strict=True)
        }

    def judge(self, documents: list[ParallelDocument], source: Longs, target: Longs) -> Codes:
        """A code for each pair of `documents`: KEPT or the number of its reason. Lengths in tokens."""
        config = self.config
        codes = np.zeros(len(source), dtype=np.uint8)
        longer, shorter = np.maximum(source, target), np.minimum(source, target)
        # Later writes win, so the reasons are written from the last to the first.
        if config.max_ratio is not None:
            codes[(longer > config.max_ratio * shorter) & (longer > _SPARED)] = CODES["max_ratio"]
        if config.max_tokens is not None:
            codes[longer > config.max_tokens] = CODES["max_tokens"]
        if self._held_out:
            codes[[i for i, pair in enumerate(_pairs(documents)) if _folded(pair) in self._held_out]] = CODES[
                "held_out"
            ]
        if config.empty:
            codes[shorter == 0] = CODES["empty"]
        number = 0
        for document in documents:
            for index in range(len(document)):
                error = bad_text(document, index)
                if error is not None:
                    if config.bad_text == "error":
                        raise error
                    codes[number] = CODES["bad_text"]
                number += 1
        return codes


def _pairs(documents: list[ParallelDocument]) -> Iterable[tuple[str, str]]:
    for document in documents:
        yield from zip(document.source.texts, document.target.texts, strict=True)


def _folded(pair: tuple[str, str]) -> tuple[str, str]:
    return pair[0].casefold(), pair[1].casefold()


@dataclass(frozen=True)
class Removal:
    """What is left of a chunk of documents once the judged pairs are gone."""

    keep: npt.NDArray[np.bool_]  # [n] over the pairs of the chunk
    document: Longs  # [d] which of the chunk's documents each remaining document was cut from
    sizes: Longs  # [d] pairs of each remaining document
    cut: int
    dropped: int

    @classmethod
    def apply(cls, codes: Codes, sizes: Longs, mode: str) -> Removal:
        """`sizes` are the pairs of each document; `mode` is FilterConfig.after_removal."""
        owner = np.repeat(np.arange(len(sizes)), sizes)
        keep = codes == KEPT
        if mode == "drop":
            touched = np.unique(owner[~keep])
            keep = ~np.isin(owner, touched)
        owners = owner[keep]
        # A new document begins where the owner changes and, when cutting, where pairs are missing between.
        gap = np.diff(np.flatnonzero(keep)) > 1 if mode == "cut" else np.zeros(max(len(owners) - 1, 0), bool)
        firsts = np.flatnonzero(np.concatenate([[True], (np.diff(owners) > 0) | gap])[: len(owners)])
        document = owners[firsts]
        left, pieces = np.unique(document, return_counts=True)
        return cls(
            keep,
            document,
            np.diff(np.concatenate([firsts, [len(owners)]])),
            cut=int(np.sum(pieces > 1)),
            dropped=len(sizes) - len(left),
        )

    def names(self, documents: list[ParallelDocument]) -> list[str]:
        """Names of the remaining documents; the second piece of `a` is `a#2`."""
        names, last, piece = [], -1, 1
        for number in self.document:
            piece = piece + 1 if number == last else 1
            last = int(number)
            names.append(documents[last].id if piece == 1 else f"{documents[last].id}#{piece}")
        return names
