"""Configuration: frozen pydantic models that refuse unknown keys, read from YAML.

`load` reports every error at once, each with its path in the file and, for a misspelt key, the key that was
probably meant. `--set a.b=value` overrides go through the same checks.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from fenster.errors import ConfigError, counted

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader  # type: ignore[assignment]

# pydantic warns that the field `register` hides a method of its metaclass, which nobody calls.
warnings.filterwarnings("ignore", 'Field name "register"', UserWarning)


# How pydantic names the kinds of values that a place may have.
_KIND = re.compile(r"(?:literal|list|tuple|dict)\[.*|constrained-\w+|int|float|str|bool")
_EXPECTED = {  # pydantic's kinds of errors
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a number that is not infinite",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "text",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "literal_error": "{expected}",
    "model_type": "keys with values",
    "model_attributes_type": "a JSON object",
    "dict_type": "keys with values",
    "list_type": "a list",
    "tuple_type": "a list",
}


class Config(BaseModel):
    """Base of every configuration: immutable, no unknown keys, field texts double as documentation."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


AnyConfig = TypeVar("AnyConfig", bound=Config)


class _Loader(SafeLoader):
    """YAML in which a key may stand only once: PyYAML would silently take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    problem="a key that is not a word", problem_mark=key.start_mark
                )
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
    path: Path,
    model: type[AnyConfig],
    overrides: Sequence[str] = (),
    values: Mapping[str, Any] | None = None,
    variables: Mapping[str, str] | None = None,
) -> AnyConfig:
    """Read and check a YAML config; `overrides` are `a.b=value` in YAML, `values` are used as they are, and
    `${NAME}` in texts is replaced from `variables` only."""
    try:
        data = _parse(path.read_text(encoding="utf-8"), path, "not YAML")
    except FileNotFoundError:
        raise ConfigError("no such config file", path=path, fix="`fenster configs` lists the built-in ones") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", path=path, expected="a YAML file") from None
    data = {} if data is None else data
    if not isinstance(data, dict):
        raise ConfigError(f"holds a {type(data).__name__}", path=path, expected="keys and values")
    for override in overrides:
        _override(data, override)
    data = _expanded(data, variables or {})
    what = "the configuration" + (" after --set was applied" if overrides else "")
    return check({**data, **(values or {})}, model, path, what)


def _expanded(value: Any, variables: Mapping[str, str]) -> Any:
    """`value` with `${NAME}` replaced in every text."""
    if isinstance(value, dict):
        return {key: _expanded(part, variables) for key, part in value.items()}
    if isinstance(value, list):
        return [_expanded(part, variables) for part in value]
    if isinstance(value, str):
        for name, replacement in variables.items():
            value = value.replace(f"${{{name}}}", replacement)
    return value


def _override(data: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals:
        raise ConfigError(f"cannot read --set {override!r}", expected="--set a.b=value")
    *parents, last = key.split(".")
    for name in parents:
        data = data.setdefault(name, {})
        if not isinstance(data, dict):
            raise ConfigError(f"--set {override!r}: {name!r} is not a section (it has no keys)")
    data[last] = _parse(text, None, f"cannot read --set {override!r}")


def check(
    data: dict[str, Any], model: type[AnyConfig], path: Path | None = None, what: str = "the configuration"
) -> AnyConfig:
    """`data` as a checked config; all errors in one."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ConfigError(
            describe_errors(error, what, model, data),
            path=path,
            fix=None
            if path is None
            else "correct them; the commented built-in configurations show every key (`fenster configs`)",
        ) from None


def describe_errors(
    error: ValidationError, what: str, model: type[BaseModel] | None = None, data: object = None
) -> str:
    """All errors of a validation, one per line, each with its path."""
    problems = problems_of(error.errors(include_url=False), model, data)
    return f"{counted(len(problems), 'error')} in {what}:\n  " + "\n  ".join(problems)


def problems_of(errors: Sequence[Any], model: type[BaseModel] | None = None, data: object = None) -> list[str]:
    """pydantic's errors in our words. Where a value may be of several kinds it has one for each: they become one."""
    by_location: dict[tuple[int | str, ...], list[Any]] = {}
    for error in errors:
        *outer, last = error["loc"] or ("",)
        is_kind = bool(outer) and isinstance(last, str) and _KIND.fullmatch(last) is not None
        by_location.setdefault(tuple(outer) if is_kind else error["loc"], []).append(error)
    made = []
    for location, same in by_location.items():
        wanted = list(dict.fromkeys(_message(error).removeprefix("expected ") for error in same))
        one = {**same[0], "loc": location}
        made.append(one if len(same) == 1 else one | {"type": "several", "msg": f"expected {' or '.join(wanted)}"})
    return [_describe(problem, model or BaseModel, data) for problem in made]


def _describe(problem: Any, model: type[BaseModel], data: object) -> str:
    parts, known = _locate(model, problem["loc"], data)
    where = ".".join(parts)
    if problem["type"] != "extra_forbidden":
        # An error of several keys together has a whole section as its input: the message is enough.
        silent = problem["type"] == "missing" or isinstance(problem["input"], dict)
        given = "" if silent else f" (got {problem['input']!r})"
        message = _message(problem)
        return f"{where}: {message}{given}" if where else f"{message}{given}"
    close = difflib.get_close_matches(parts[-1], known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else f"; known keys: {', '.join(known)}" if known else ""
    return f"{where}: unknown key{hint}"


def _message(problem: Any) -> str:
    if problem["type"] == "missing":
        return "is required"
    if problem["type"] == "json_invalid":
        return f"not JSON: {problem['ctx']['error']}"
    if problem["type"] in _EXPECTED:
        return "expected " + _EXPECTED[problem["type"]].format(**problem.get("ctx", {}))
    return str(problem["msg"]).removeprefix("Value error, ")


def _locate(model: type[BaseModel], location: tuple[int | str, ...], data: object) -> tuple[list[str], list[str]]:
    """(the path as it is in the file, the keys allowed beside its last part).

    pydantic's locations also name the chosen member of a tagged union, which is not in the file.
    """
    current, path = [model], []
    known: list[str] = []
    for part in location:
        known = [name for section in current for name in section.model_fields]
        fields = [section.model_fields[str(part)] for section in current if part in section.model_fields]
        tagged = [
            section for section in current if any(field.default == part for field in section.model_fields.values())
        ]
        if len(current) > 1 and tagged:
            current = tagged
            continue
        path.append(str(part))
        data = data.get(part) if isinstance(data, dict) else None
        if fields:
            models = [section for field in fields for section in _models(field.annotation)]
            current = _of_kind(models, data) or current
    return path, known


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]


def _of_kind(models: list[type[BaseModel]], data: object) -> list[type[BaseModel]]:
    """Those of some sections, or of their subclasses, that the section's `kind` names; all if it names none."""
    kind = data.get("kind") if isinstance(data, dict) else None
    below = [*models, *(model for section in models for model in section.__subclasses__())]
    named = [model for model in below if "kind" in model.model_fields and model.model_fields["kind"].default == kind]
    return named or models
