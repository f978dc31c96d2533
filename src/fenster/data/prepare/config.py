"""What `fenster prepare` makes. `configs/prepare/europarl.yaml` explains every key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from fenster.config import Config
from fenster.data.corpora import FORMATS
from fenster.data.tokenizer import TokenizerConfig

DATA_ROOT = "FENSTER_DATA"
"""The environment variable that names the folder of raw corpora, and `${FENSTER_DATA}` in configs."""


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str | Path | dict) else value


def _paths(value: object) -> object:
    listed = _as_list(value)
    if isinstance(listed, list | tuple) and any(path == "" for path in listed):
        raise ValueError("a path must not be empty")
    return listed


def _named(value: object) -> object:
    """YAML takes 2015 for a number; as the name of a split it is a word."""
    return {str(key): corpora for key, corpora in value.items()} if isinstance(value, dict) else value


Corpora = Annotated[tuple["CorpusConfig", ...], BeforeValidator(_as_list), Field(min_length=1)]


class CorpusConfig(Config):
    """Where documents are read from: `paths` in the order the format expects. A plain string is one path."""

    paths: Annotated[tuple[Path, ...], BeforeValidator(_paths), Field(min_length=1)]
    """One path, or a list; relative to the current folder."""
    format: str | None = None
    """One of `fenster data formats`; guessed from the names if left out."""
    name: str = ""
    """Its name in training's `mixture`; the first path's folder and file name if left out."""
    weight: float = Field(default=1.0, ge=0, le=100, allow_inf_nan=False)
    """How often each of its documents is drawn per epoch of training: 2 is twice, 0.5 every other epoch on average.
    Training may set others (`mixture`)."""
    cap: int | None = Field(default=None, ge=1)
    """Maximum number of sentence pairs: documents that would exceed it are left out."""
    variants: bool = False
    """Documents with the same source are versions of one (the same sentence with du and with Sie): an epoch draws one
    of them."""

    @property
    def label(self) -> str:
        path = self.paths[0]
        return self.name or f"{path.parent.name}/{path.name.split('.tsv')[0]}"

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: object) -> object:
        return {"paths": [value]} if isinstance(value, str | Path) else value

    @field_validator("format")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        return None if value is None else FORMATS.known(value)


class FilterConfig(Config):
    """What is removed from the *training* documents; everything removed is counted in the manifest."""

    empty: bool = True
    """Pairs with an empty side."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Pairs with more tokens than this on a side."""
    max_ratio: float | None = Field(default=None, gt=1)
    """Pairs where one side has more than this many times the tokens of the other; pairs of up
    to 10 tokens per side are spared, since short sentences vary more."""
    held_out: Annotated[tuple[CorpusConfig, ...], BeforeValidator(_as_list)] = ()
    """Pairs that occur in these corpora, letter case aside (this keeps ContraPro's segments out)."""
    bad_text: Literal["error", "remove"] = "error"
    """Control characters or reserved symbols in the text: stop with file and line, or remove the pair. With
    `remove` they stay in test sets, where nothing may be lost, and are counted there."""
    after_removal: Literal["cut", "join", "drop"] = "cut"
    """cut: the document ends there and a new one begins, so that neighbours in training were neighbours in
    the text; join: close the gap; drop: remove the whole document (the strict reading)."""


Share = Annotated[float, Field(ge=0, le=1)]


class AugmentConfig(Config):
    """Further versions of each training document, in which symbols stand for protected text and for the register; an
    epoch of training draws one version. Needs `tokenizer.symbols`."""

    versions: int = Field(default=0, ge=0, le=8)
    """Versions besides the plain one."""
    spans: Share = 0.9
    """Share of sentences in which spans and numbers that both sides contain become placeholders."""
    names: Share = 0.05
    """Share of the capitalised words common to both sides of such sentences that become placeholders as well."""
    registers: Share = 0.7
    """Share of documents whose sentences begin with a symbol for the register of their translation, which is
    determined from the target side."""
    seed: int = 1


class PrepareConfig(Config):
    """`fenster prepare`: raw parallel documents to memory-mapped token ids."""

    output: Path
    """The folder to make."""
    splits: Annotated[dict[str, Corpora], BeforeValidator(_named)]
    """Corpora by split; `train` and `valid` are used in training, any other name is a test set."""
    tokenizer: TokenizerConfig = TokenizerConfig()
    filters: FilterConfig = FilterConfig()
    languages: tuple[str, str] = ("en", "de")
    """Codes of the source and the target language, which determine number conventions and forms of address."""
    augment: AugmentConfig = AugmentConfig()
    max_sentence_tokens: int = Field(default=1000, ge=1)
    """No sentence of any split may have more tokens than this on a side; stop with file and line. In
    training data `filters.max_tokens` removes long pairs instead."""
    ratio_limit: int = Field(default=1000, ge=1)
    """train_ratio is averaged over parts of at most this many target tokens."""
    workers: int | None = Field(default=None, ge=1)
    """Encoding processes; all cores if left out."""

    @model_validator(mode="after")
    def _has_symbols(self) -> PrepareConfig:
        if self.augment.versions and not self.tokenizer.symbols and self.tokenizer.model is None:
            raise ValueError("augment.versions needs symbols in the vocabulary: set tokenizer.symbols: true")
        names = [corpus.label for corpus in self.splits["train"]]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"two training corpora are called {min(twice)!r}: give each a `name`")
        return self

    @field_validator("splits")
    @classmethod
    def _has_train(cls, splits: dict[str, tuple[CorpusConfig, ...]]) -> dict[str, tuple[CorpusConfig, ...]]:
        if "train" not in splits:
            raise ValueError("a split called 'train' is required: the tokenizer is learned from it")
        for name in splits:
            if not name.replace("-", "").replace("_", "").isalnum():
                raise ValueError(f"split name {name!r} must be letters, digits, - and _ (it names a folder)")
        return splits
