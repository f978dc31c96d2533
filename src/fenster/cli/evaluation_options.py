"""Options of commands that evaluate: which test set, how forms are counted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from fenster.cli.options import Flag, FormatName, Paths
from fenster.data.corpora import FORMATS, bare_name
from fenster.data.corpora.stream import stream
from fenster.document import ParallelDocument
from fenster.errors import ConfigError
from fenster.evaluate.evaluation import EvaluationOptions
from fenster.evaluate.test_set import read_lines


@Parameter(name="*")
@dataclass(frozen=True)
class TestSetOption:
    """The test set, in one of two ways."""

    test: Paths = None
    "A parallel corpus in any format that `fenster data formats` lists."
    format: FormatName = None
    "Format of --test; guessed from the file names if left out."
    src: Path | None = None
    "Instead of --test: source lines. Without them, metrics that need the source are left out."
    ref: Paths = None
    "Reference lines; several files are several references."
    docs: Path | None = None
    "A file with the name of each line's document; without it, lines that are blank in all files end a document."
    name: str | None = None
    "Name of the test set in tables; taken from the file names if left out."

    @property
    def files(self) -> dict[str, list[Path]]:
        """For a result to name."""
        given = {
            "test": self.test,
            "source": self.src and [self.src],
            "references": self.ref,
            "documents": self.docs and [self.docs],
        }
        return {key: paths for key, paths in given.items() if paths}

    @property
    def paths(self) -> list[Path]:
        return [path for paths in self.files.values() for path in paths]

    def read(self) -> tuple[tuple[ParallelDocument, ...], bool, str]:
        """(documents, whether the source is known, name)"""
        if (self.test is None) == (self.ref is None):
            raise ConfigError("no test set given", expected="--test CORPUS, or --ref FILE (with --src FILE)")
        if self.ref is not None:
            name = self.name or self.ref[0].name.split(".")[0]
            return read_lines(self.src, self.ref, self.docs), self.src is not None, name
        assert self.test is not None
        if self.src is not None or self.docs is not None:
            raise ConfigError("--src and --docs go with --ref, not with --test")
        form = None if self.format is None else FORMATS[self.format]
        return tuple(stream("reading", self.test, form)), True, self.name or set_name(self.test[0])

    def read_with_source(self) -> tuple[tuple[ParallelDocument, ...], str]:
        documents, with_source, name = self.read()
        if not with_source:
            raise ConfigError("the source is required", fix="give --src, or --test")
        return documents, name


def set_name(path: Path) -> str:
    """A test set's name from its file's: the folder too, since files of many sets are called `test`."""
    stem = re.sub(r"\.json$", "", bare_name(path))
    folder = path.resolve().parent.name
    return f"{folder}/{stem}" if folder else stem


@Parameter(name="*")
@dataclass(frozen=True)
class CountingOption:
    """How pronouns and registers are counted, and what significance tests resample."""

    rules: str = "en-de"
    "Word lists and rules: en-de, en-de-corrected, a YAML file like those, or none."
    tagger: str = "hanta"
    "hanta (offline), spacy (the paper's; an extra), lists (no part-of-speech filter)."
    lowercase: Flag = False
    "Lower-case all text before pronouns are counted, as the published code's command line does."
    resample: Literal["documents", "segments"] = "documents"
    "What confidence intervals resample."
    samples: Annotated[int, Parameter(validator=Number(gte=1))] = 1000
    "Number of bootstrap samples."

    @property
    def options(self) -> EvaluationOptions:
        rules = None if self.rules == "none" else self.rules
        return EvaluationOptions(rules, self.tagger, self.lowercase, self.resample, self.samples)
