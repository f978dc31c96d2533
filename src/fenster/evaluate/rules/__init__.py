"""Which forms of which words count in which score: the YAML files beside this module, or the user's own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from fenster.config import Config, load
from fenster.errors import ConfigError

_FOLDER = Path(__file__).parent
Words = Annotated[tuple[str, ...], Field(min_length=1)]


class FormClass(Config):
    """One class of target forms, such as masculine pronouns."""

    forms: Words
    unless: tuple[str, ...] = ()
    """Groups of source words that switch it off for a sentence, since its forms would be ambiguous."""


class Score(Config):
    trigger: Words
    """Groups of source words of which a sentence needs one to count."""
    classes: Annotated[dict[str, FormClass], Field(min_length=1)]
    weights: Annotated[dict[str, tuple[float, ...]], Field(min_length=1)]
    """Weights of the classes by name of the variant; the first is the main one."""


class Tags(Config):
    source: Words
    target: Words


class Rules(Config):
    """The counting rules of a language pair."""

    source: str
    target: str
    tags: Tags
    """A token counts only with one of these."""
    words: dict[str, Words]
    """Groups of source words."""
    scores: dict[str, Score]

    @model_validator(mode="after")
    def _consistent(self) -> Rules:
        for name, score in self.scores.items():
            used = {*score.trigger, *(group for form_class in score.classes.values() for group in form_class.unless)}
            if unknown := sorted(used - self.words.keys()):
                raise ValueError(f"scores.{name} names {unknown[0]!r}, which is not a group of words")
            if any(len(weights) != len(score.classes) for weights in score.weights.values()):
                raise ValueError(f"scores.{name}.weights must have one number for each class")
            if any(min(weights) < 0 or max(weights) <= 0 for weights in score.weights.values()):
                raise ValueError(f"scores.{name}.weights must not be negative, nor all 0")
        return self

    @cached_property
    def groups(self) -> dict[str, frozenset[str]]:
        """The forms of each group of source words, as text has them."""
        return {name: both_cases(words) for name, words in self.words.items()}

    @cached_property
    def forms(self) -> dict[str, dict[str, frozenset[str]]]:
        """The forms of each class of each score, as text has them."""
        return {
            name: {label: both_cases(form_class.forms) for label, form_class in score.classes.items()}
            for name, score in self.scores.items()
        }


def both_cases(words: Iterable[str]) -> frozenset[str]:
    """Each word as it stands and with a capital."""
    return frozenset(form for word in words for form in (word, word[:1].upper() + word[1:]))


def load_rules(name: str) -> Rules:
    """Rules that ship with the package, by name (en-de), or a YAML file."""
    shipped = {path.stem: path for path in _FOLDER.glob("*.yaml")}
    path = shipped.get(name, Path(name))
    if not path.is_file():
        raise ConfigError(
            f"unknown rules {name!r}", expected=", ".join(sorted(shipped)), fix="or give a YAML file of that kind"
        )
    return load(path, Rules)
