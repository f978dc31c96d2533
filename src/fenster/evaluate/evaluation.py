"""All metrics of a translated test set at once: what `fenster evaluate` prints and keeps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fenster.evaluate import consistency
from fenster.evaluate.classes import Counter, class_scores
from fenster.evaluate.measure import Measure
from fenster.evaluate.result import Result, System, Unit, drawn, scored
from fenster.evaluate.rules import load_rules
from fenster.evaluate.significance import SAMPLES
from fenster.evaluate.surface import surface
from fenster.evaluate.tagging import make_tagger
from fenster.evaluate.texts import Evaluated


@dataclass(frozen=True)
class Options:
    rules: str | None = "en-de"
    """None where the language pair has no lists; then neither F1 nor the register is measured."""
    tagger: str = "hanta"
    lowercase: bool = False
    unit: Unit = "documents"
    samples: int = SAMPLES

    def counter(self) -> Counter | None:
        if self.rules is None:
            return None
        rules = load_rules(self.rules)
        source, target = (make_tagger(self.tagger, language) for language in (rules.source, rules.target))
        return Counter(rules, source, target, self.lowercase, Path(self.rules).stem)


def evaluate(texts: Evaluated, system: System, test: str, options: Options | None = None) -> Result:
    options = options or Options()
    measures: list[Measure] = surface(texts)
    skipped = []
    if not texts.with_source:
        skipped.append("pronoun F1, formality F1, consistency: the source is not given")
    else:
        counter = options.counter()
        if counter is None:
            skipped.append("pronoun F1, formality F1, register consistency: no rules for this language pair")
        else:
            measures += class_scores(texts, counter)
            if "formality" in counter.rules.scores:
                measures.append(consistency.register(texts, counter))
            else:
                skipped.append("register consistency: the rules have no score called formality")
        measures.append(consistency.terms(texts))
    unit = drawn(len(texts.documents), options.unit)
    names = tuple(document.id for document in texts.documents) if unit == "documents" else ()
    return Result(
        kind="translation",
        system=system,
        test=test,
        unit=unit,
        names=names,
        segments=len(texts.outputs),
        scores=scored(measures, len(texts.documents), unit, options.samples),
        skipped=tuple(skipped),
    )
