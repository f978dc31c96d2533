"""How a document is translated. The command line's options are made from this class, too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from fenster.config import Config
from fenster.language.quotes import QuotePolicy

Precision = Literal["tf32", "float32"]
RegisterPolicy = Literal["auto", "steady", "formal", "informal"]


FILE_SETTINGS = ("do_not_translate", "memory", "glossary")
"""Settings that name a file."""


class DecodeConfig(Config):
    strategy: str = "auto"
    """sentence: each alone. full-segment (FSD): a block or part of the document in one search. sequential (SD):
    sentence by sentence, given the translations so far. auto: what the paper uses for the system: sentence for
    sentence-level models, sequential for window attention, full-segment for all others."""
    beam: int = Field(default=12, ge=1, le=512)
    """Hypotheses kept; 1 is greedy."""
    normalisation: float = Field(default=1.0, ge=0, le=10)
    """Length penalty: scores are log-probability over length to this power."""
    context: Literal["auto", "part", "document"] | Annotated[int, Field(ge=0)] = "auto"
    """Sequential decoding: the number of preceding sentences that are given as context, or all of the part, or of the
    document. auto: as in training for adjacent systems, the document with relative positions, else the part."""
    count: Literal["forced", "split", "repair"] = "forced"
    """Full-segment decoding: how to get exactly one translation per sentence. forced: the search must produce
    that number. split: cut at separators; missing sentences are empty, surplus ones joined to the last (as in the
    paper). repair: like split, but blocks with a different count are translated again sequentially."""
    lookahead: int = Field(default=0, ge=0, le=1_000_000)
    """Sequential decoding: number of following source sentences that the model may see (beyond the paper)."""
    alignment: str | None = None
    """The alignment of windows, instead of the model's own."""
    focus: bool | None = None
    """Restrict windows in cross-attention to the sentence being translated (beyond the paper); the model's own
    setting if left out."""
    length_ratio: float = Field(default=1.5, gt=0, le=100)
    """A translation has at most length_ratio * source tokens + length_extra; one that reaches it is flagged."""
    length_extra: int = Field(default=20, ge=0, le=100_000)
    """See length_ratio."""
    precision: Precision = "tf32"
    """Precision of matrix products on a GPU: tf32 rounds their factors to 10 bits, for speed; float32 does not."""
    int8: bool | None = None
    """8-bit weights: faster on a CPU, slightly less exact. By default used if the model's files are in 8 bits."""
    register: RegisterPolicy = "auto"
    """How people are addressed (Sie or du), if the model has symbols for it. auto: as the context suggests. steady:
    like auto at first; once there are three forms of address or more, 75 % of them in one register, sentences in the
    other are searched again in that register."""
    numbers: Literal["convert", "keep", "model"] = "convert"
    """Figures with separators, percentages, amounts, dates and times. convert: written as is usual in the target
    language (216,196 is 216.196 in German). keep: as they are. model: left to the model."""
    quotes: QuotePolicy = "auto"
    """Double quotation marks. Typographic ones become those of the target language. keep: straight ones stay
    straight. auto: likewise, except in stories, where straight marks around
    dialogue become typographic ones. model: left to the model."""
    protection: bool = True
    """Copy addresses, paths, code, template placeholders, part numbers and the like unchanged."""
    protect: tuple[str, ...] = ()
    """Regular expressions of further text to protect; may be given several times."""
    do_not_translate: Path | None = None
    """A file of terms to protect, one per line."""
    memory: Path | None = None
    """Translations to reuse: any corpus (.tmx, .xliff, .csv, .tsv, .jsonl), or lines of source TAB translation. A
    segment that occurs there is not translated but copied from it, and serves as context."""
    glossary: Path | None = None
    """A file of terms with prescribed translations (.csv or .tsv: source,target, or source,target,forms with |
    between forms). Other forms of both are derived by rules. If a translation lacks a term, the sentence is searched
    again with it; if the term is still missing, there is a warning. Not for full-segment decoding."""
    guards: bool = True
    """Search again, without context and with figures protected, if a translation looks wrong (different figures,
    loops, implausible length); what still looks wrong gets a warning."""
    assume_language: bool = False
    """Do not check that the text is in the model's source language."""
    batch_size: int = Field(default=32, ge=1)
    """Number of searches run at once, across documents."""
    threads: int | None = Field(default=None, ge=1, le=1024)
    """Threads on a CPU. By default OMP_NUM_THREADS, or else as many as there are free cores."""

    @field_validator("protect")
    @classmethod
    def _patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is not a regular expression ({error}); one is ACME-[0-9]+") from None
        return patterns

    @field_validator("do_not_translate")
    @classmethod
    def _terms_exist(cls, path: Path | None) -> Path | None:
        if path is not None and not path.is_file():
            raise ValueError(f"{path} does not exist; expected a file of terms, one per line")
        return path

    @field_validator("glossary")
    @classmethod
    def _glossary_exists(cls, path: Path | None) -> Path | None:
        if path is not None and not path.is_file():
            raise ValueError(f"{path} does not exist; expected a file of terms: source,target")
        return path

    @field_validator("memory")
    @classmethod
    def _memory_exists(cls, path: Path | None) -> Path | None:
        if path is not None and not path.is_file():
            raise ValueError(f"{path} does not exist; expected a corpus, such as memory.tmx")
        return path
