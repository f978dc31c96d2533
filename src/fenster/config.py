"""Configuration: frozen pydantic models that refuse unknown keys, read from YAML.

`load` reports every fault at once, each with its path in the file and, for a misspelt key, the key that was
probably meant. `--set a.b=value` overrides go through the same checks.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from fenster.corpus import FORMATS
from fenster.errors import ConfigError


class Config(BaseModel):
    """Base of every configuration: immutable, no unknown keys, field texts double as documentation."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


AnyConfig = TypeVar("AnyConfig", bound=Config)


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
    """Where documents are read from: `paths` in the order the format wants them. A plain string is one path."""

    paths: Annotated[tuple[Path, ...], BeforeValidator(_paths), Field(min_length=1)]
    """One path, or a list; relative to the current folder."""
    format: str | None = None
    """One of `fenster import --help`'s formats; guessed from the names if left out."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: object) -> object:
        return {"paths": [value]} if isinstance(value, str | Path) else value

    @field_validator("format")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None and value not in FORMATS:
            raise ValueError(f"no format is called {value!r}; there are: {', '.join(FORMATS)}")
        return value


class TokenizerConfig(Config):
    """Joint BPE over both languages (sentencepiece)."""

    model: Path | None = None
    """Take this trained model instead of learning one; the settings below are then not used."""
    vocab_size: int = Field(default=15_000, ge=300)
    """15k as in the paper's NEWS and TED; 32k for large corpora."""
    sample: int = Field(default=1_000_000, ge=1)
    """Learn from at most this many sentences (both sides together), drawn evenly; bounds memory."""
    character_coverage: float = Field(default=1.0, ge=0.98, le=1)
    """Share of characters that get a piece of their own; the rest is spelt in bytes, never lost."""
    seed: int = 1


class FilterConfig(Config):
    """What is taken out of the *training* documents; everything taken out is counted in the manifest."""

    empty: bool = True
    """Pairs with an empty side."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Pairs with more tokens than this on a side."""
    max_ratio: float | None = Field(default=None, gt=1)
    """Pairs where one side has more than this many times the tokens of the other ; pairs of up
    to 10 tokens a side are spared, since short sentences vary more."""
    held_out: Annotated[tuple[CorpusConfig, ...], BeforeValidator(_as_list)] = ()
    """Pairs that occur in these corpora, letter case aside (how ContraPro's segments are kept out)."""
    bad_text: Literal["error", "remove"] = "error"
    """Control characters or reserved symbols in the text: stop with file and line, or take the pair out. With
    `remove` they stay in test sets, where nothing may go missing, and are counted there."""
    after_removal: Literal["cut", "join", "drop"] = "cut"
    """cut: the document ends there and a new one begins, so that neighbours in training were neighbours in
    the text; join: close the gap; drop: take the whole document out (the strict reading)."""


class PrepareConfig(Config):
    """`fenster prepare`: raw parallel documents to memory-mapped token ids."""

    output: Path
    """The folder to make."""
    splits: Annotated[dict[str, Corpora], BeforeValidator(_named)]
    """Corpora by split; `train` and `valid` are used in training, any other name is a test set."""
    tokenizer: TokenizerConfig = TokenizerConfig()
    filters: FilterConfig = FilterConfig()
    max_sentence_tokens: int = Field(default=1000, ge=1)
    """No sentence of any split may have more tokens than this on a side; stop with file and line. In
    training data `filters.max_tokens` takes long pairs out instead."""
    ratio_limit: int = Field(default=1000, ge=1)
    """train_ratio is averaged over parts of at most this many target tokens (SPEC 4.3 item 21)."""
    workers: int | None = Field(default=None, ge=1)
    """Encoding processes; all cores if left out."""

    @field_validator("splits")
    @classmethod
    def _has_train(cls, splits: dict[str, tuple[CorpusConfig, ...]]) -> dict[str, tuple[CorpusConfig, ...]]:
        if "train" not in splits:
            raise ValueError("a split called 'train' is needed: the tokenizer is learned from it")
        for name in splits:
            if not name.replace("-", "").replace("_", "").isalnum():
                raise ValueError(f"split name {name!r} must be letters, digits, - and _ (it names a folder)")
        return splits


class _Loader(yaml.SafeLoader):
    """YAML in which a key may stand only once: PyYAML would silently take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(problem="a key that is no word", problem_mark=key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"key {key.value!r} occurs twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _parse(text: str, path: Path | None, what: str) -> Any:
    try:
        return yaml.load(text, _Loader)  # a SafeLoader: no code from data
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None and path is not None else None
        raise ConfigError(f"{what}: {getattr(error, 'problem', error)}", path=path, line=line) from None


def load(
    path: Path, model: type[AnyConfig], overrides: Sequence[str] = (), values: Mapping[str, Any] | None = None
) -> AnyConfig:
    """Read and check a YAML config; `overrides` are `a.b=value` in YAML, `values` are taken as they are."""
    try:
        data = _parse(path.read_text(encoding="utf-8"), path, "not YAML")
    except FileNotFoundError:
        raise ConfigError("no such config file", path=path, fix="see the examples in configs/") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", path=path, expected="a YAML file") from None
    data = {} if data is None else data
    if not isinstance(data, dict):
        raise ConfigError(f"holds a {type(data).__name__}", path=path, expected="keys and values")
    for override in overrides:
        _override(data, override)
    what = "the configuration" + (" as --set changes it" if overrides else "")
    return check({**data, **(values or {})}, model, path, what)


def _override(data: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals:
        raise ConfigError(f"cannot read --set {override!r}", expected="--set a.b=value")
    *parents, last = key.split(".")
    for name in parents:
        data = data.setdefault(name, {})
        if not isinstance(data, dict):
            raise ConfigError(f"--set {override!r}: {name!r} has no keys below it")
    data[last] = _parse(text, None, f"cannot read --set {override!r}")


def check(
    data: dict[str, Any], model: type[AnyConfig], path: Path | None = None, what: str = "the configuration"
) -> AnyConfig:
    """`data` as a checked config; all faults in one error."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        faults = [_describe(fault, model) for fault in error.errors(include_url=False)]
        raise ConfigError(
            f"{len(faults)} fault(s) in {what}:\n  " + "\n  ".join(faults),
            path=path,
            fix=None if path is None else "correct them; the commented files in configs/ show every key",
        ) from None


def _describe(fault: Any, model: type[BaseModel]) -> str:
    parts, known = _locate(model, fault["loc"])
    where = ".".join(parts)
    if fault["type"] != "extra_forbidden":
        # A fault of several keys together has a whole section as its input: what it says is enough.
        given = "" if fault["type"] == "missing" or isinstance(fault["input"], dict) else f" (got {fault['input']!r})"
        message = fault["msg"].removeprefix("Value error, ")
        return f"{where}: {message}{given}" if where else f"{message}{given}"
    close = difflib.get_close_matches(parts[-1], known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else f"; known keys: {', '.join(known)}" if known else ""
    return f"{where}: unknown key{hint}"


def _locate(model: type[BaseModel], location: tuple[int | str, ...]) -> tuple[list[str], list[str]]:
    """(the path as it stands in the file, the keys allowed beside its last part).

    pydantic's locations also name the chosen member of a tagged union, which is not in the file.
    """
    current, path = [model], []
    known: list[str] = []
    for part in location:
        known = [name for each in current for name in each.model_fields]
        fields = [each.model_fields[str(part)] for each in current if part in each.model_fields]
        tagged = [each for each in current if any(field.default == part for field in each.model_fields.values())]
        if len(current) > 1 and tagged:
            current = tagged
            continue
        path.append(str(part))
        if fields:
            current = [found for field in fields for found in _models(field.annotation)] or current
    return path, known


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]
