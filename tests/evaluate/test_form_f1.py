"""Pronoun and formality F1: the vectors of SPEC 1.9 and the aggregation of SPEC 1.6."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from fenster.document import Document, ParallelDocument
from fenster.errors import ConfigError
from fenster.evaluate.evaluation import EvaluationOptions, evaluate
from fenster.evaluate.metrics.base import Measurement
from fenster.evaluate.metrics.form_f1 import FormCounter, FormF1
from fenster.evaluate.rules import load_rules
from fenster.evaluate.system import System
from fenster.evaluate.tagging import TAGGERS
from fenster.evaluate.tagging.remembered import RememberedTags
from fenster.evaluate.tagging.tokens import Tagged
from fenster.evaluate.test_set import TranslatedTestSet

VECTORS = [
    ("It is big.", "Er ist gross.", [1, 0, 0], [0, 0]),
    ("It is big.", "Es ist gross.", [0, 0, 1], [0, 0]),
    ("Do you like it?", "Magst du sie?", [0, 0, 0], [0, 1]),
    ("Where are you?", "Wo sind Sie?", [0, 0, 0], [1, 0]),
    ("She saw it.", "Sie sah es.", [0, 1, 1], [0, 0]),
    ("They saw it.", "Sie sahen es.", [0, 0, 1], [0, 0]),
    ("It lost its tail.", "Er verlor seinen Schwanz.", [1, 0, 0], [0, 0]),
    ("You and your friends.", "Ihr und eure Freunde.", [0, 0, 0], [1, 0]),
    ("You know her.", "Sie kennen sie.", [0, 0, 0], [0, 0]),
    ("It's here, isn't it?", "Es ist hier, nicht wahr?", [0, 0, 1], [0, 0]),
    ("", "Er ist da.", [0, 0, 0], [0, 0]),
]


def counter(tagger: str = "hanta", rules: str = "en-de", lowercase: bool = False) -> FormCounter:
    return FormCounter(load_rules(rules), TAGGERS[tagger]("en"), TAGGERS[tagger]("de"), lowercase)


def texts(*rows: tuple[str, str, str]) -> TranslatedTestSet:
    """(source, hypothesis, reference) as one document."""
    source, hypothesis, reference = zip(*rows, strict=True)
    pair = ParallelDocument(Document.of("a", source), Document.of("a", reference))
    return TranslatedTestSet((pair,), (hypothesis,))


def score(found: list[Measurement], name: str) -> Measurement:
    return next(measure for measure in found if measure.name == name)


@pytest.mark.parametrize("tagger", ["hanta", "lists"])
def test_the_specification_s_vectors(tagger: str) -> None:
    counted = counter(tagger)
    for source, german, pronoun, formality in VECTORS:
        found = [
            counted.count(name, counted.active(name, [source]), [german])[0].tolist()
            for name in ("pronoun", "formality")
        ]
        assert found == [pronoun, formality], (source, german)


def test_all_caps_and_other_words_do_not_count() -> None:
    counted = counter("lists")
    active = counted.active("formality", ["YOU there", "you there", "Thou art"])
    assert active.any(1).tolist() == [False, True, False]
    assert counted.count("formality", active, ["du", "DU Ihren Ihrem euch", "du"]).sum() == 0


def test_f1_by_hand() -> None:
    """Sentence by sentence and class by class the smaller count matches; main score over three classes."""
    found = FormF1().measure(
        texts(
            ("It is big.", "Es ist groß.", "Er ist groß."),
            ("It is old.", "Er ist alt.", "Er ist alt."),
            ("It sees it.", "Es sieht es.", "Es sieht ihn."),
            ("He is here.", "Er ist hier.", "Er ist hier."),
        ),
        counter(),
    )
    main = score(found, "pronoun F1")
    # hypothesis: er 1, es 3; reference: er 2, ihn 1 -> masculine 3, neuter 1; matched: er 1, es 1
    assert main.details["counts"]["hypothesis"] == {"masculine": 1, "feminine": 0, "neuter": 3}
    assert main.details["counts"]["reference"] == {"masculine": 3, "feminine": 0, "neuter": 1}
    assert main.details["counts"]["sentences"] == 3
    assert main.score == pytest.approx(100 * 2 * 2 / (4 + 4))
    code = score(found, "pronoun F1 (published code)")  # ignores neuter: 1 matched of 1 and of 3
    assert code.score == pytest.approx(100 * 2 * 1 / (1 + 3))


def test_nothing_to_find_is_undefined_and_nothing_found_is_zero() -> None:
    none = FormF1().measure(texts(("He is here.", "Er ist hier.", "Er ist hier.")), counter())
    assert all(math.isnan(measure.score) for measure in none)
    missed = FormF1().measure(texts(("It is here.", "", "Er ist hier.")), counter())
    assert score(missed, "pronoun F1").score == 0
    assert math.isnan(score(missed, "pronoun F1").details["precision"])


def test_lower_case_makes_the_formal_sie_a_form_as_well() -> None:
    rows = texts(("Where are YOU now, my dear?", "Wo sind Sie?", "Wo sind Sie?"))
    assert math.isnan(score(FormF1().measure(rows, counter("lists")), "formality F1").score)
    assert score(FormF1().measure(rows, counter("lists", lowercase=True)), "formality F1").score == 100


def test_several_references_count_as_the_best_of_each_class() -> None:
    source = Document.of("a", ["It is big."])
    pair = ParallelDocument(source, Document.of("a", ["Es ist groß."]), (Document.of("a", ["Er ist groß."]),))
    found = FormF1().measure(TranslatedTestSet((pair,), (("Er ist groß.",),)), counter())
    assert score(found, "pronoun F1").details["counts"]["reference"] == {"masculine": 1, "feminine": 0, "neuter": 1}


def test_the_corrected_rules_know_what_the_published_ones_lack() -> None:
    for rules, wanted in (("en-de", [0, 0]), ("en-de-corrected", [2, 1])):
        counted = counter("lists", rules)
        active = counted.active("formality", ["you"])
        assert counted.count("formality", active, ["Ihrem und Ihren euch"])[0].tolist() == wanted


def test_another_language_is_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "en-xx.yaml"
    path.write_text(
        "source: en\ntarget: xx\ntags: {source: [PRP], target: [P]}\nwords: {you: [you]}\nscores:\n"
        "  formality:\n    trigger: [you]\n    classes: {formal: {forms: [vous]}, informal: {forms: [tu]}}\n"
        "    weights: {paper: [1, 1]}\n"
    )
    counted = FormCounter(load_rules(str(path)), TAGGERS["lists"]("en"), TAGGERS["lists"]("xx"))
    active = counted.active("formality", ["Do you?"])
    assert counted.count("formality", active, ["Tu vous tu"]).tolist() == [[1, 2]]


def test_bad_rules_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown rules"):
        load_rules("xx-yy")
    path = tmp_path / "bad.yaml"
    path.write_text(
        "source: en\ntarget: de\ntags: {source: [A], target: [B]}\nwords: {}\nscores:\n"
        "  s: {trigger: [you], classes: {a: {forms: [b]}}, weights: {paper: [1]}}\n"
    )
    with pytest.raises(ConfigError, match="'you', which is not a group of words"):
        load_rules(str(path))


def test_signatures_tell_rules_apart() -> None:
    options = [
        EvaluationOptions(rules="en-de", tagger="lists"),
        EvaluationOptions(rules="en-de-corrected", tagger="lists"),
    ]
    found = [each.counter() for each in options]
    assert [each.signature.split("|")[0] for each in found if each] == ["rules:en-de", "rules:en-de-corrected"]


def test_rules_without_formality_are_enough(tmp_path: Path) -> None:
    path = tmp_path / "en-xx.yaml"
    path.write_text(
        "source: en\ntarget: xx\ntags: {source: [PRP], target: [P]}\nwords: {it: [it]}\nscores:\n"
        "  pronoun: {trigger: [it], classes: {a: {forms: [ca]}}, weights: {paper: [1]}}\n"
    )
    found = evaluate(
        texts(("it", "ca", "ca")), System(name="x"), "t", EvaluationOptions(rules=str(path), tagger="lists")
    )
    assert found.score("pronoun F1") is not None and "no score called formality" in found.skipped[0]


def test_taggers_that_are_not_there_say_how_to_get_them() -> None:
    with pytest.raises(ConfigError, match="python -m spacy download de_core_news_sm"):
        TAGGERS["spacy"]("de")
    with pytest.raises(ConfigError, match="HanTa has no model"):
        TAGGERS["hanta"]("fr")
    with pytest.raises(ConfigError, match="unknown tagger"):
        TAGGERS["nltk"]("de")


def test_spacy_is_used_as_the_paper_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for the package, since its models are not on PyPI: names, tags, what is switched off."""
    import sys
    from types import SimpleNamespace

    asked: list[tuple[str, tuple[str, ...]]] = []

    class Pipe:
        @property
        def meta(self) -> dict[str, str]:
            return {"version": "3.8.0"}

        def pipe(self, sentences: list[str]) -> list[list[SimpleNamespace]]:
            return [[SimpleNamespace(text=word, tag_="PPER") for word in each.split()] for each in sentences]

    def load(name: str, exclude: list[str]) -> Pipe:
        asked.append((name, tuple(exclude)))
        return Pipe()

    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=load, __version__="3.8.1"))
    tagger = TAGGERS["spacy"]("de")
    assert tagger.name == "spaCy 3.8.1, de_core_news_sm 3.8.0"
    assert asked[0][0] == "de_core_news_sm" and "parser" in asked[0][1]
    assert tagger.tag(["er ist", ""]) == [[("er", "PPER"), ("ist", "PPER")], []]


def test_the_tagger_matters_where_a_form_is_no_pronoun() -> None:
    """HanTa tells the noun from the pronoun, which lists cannot."""
    active = np.ones((1, 2), dtype=bool)
    sentence = ["Wir boten ihm das Du an."]
    assert counter("lists").count("formality", active, sentence)[0, 1] == 1
    assert counter("hanta").count("formality", active, sentence)[0, 1] == 0


def test_a_sentence_is_tagged_once() -> None:
    class Counting:
        name = "counting"

        def __init__(self) -> None:
            self.seen: list[str] = []

        def tag(self, sentences: Sequence[str]) -> list[Tagged]:
            self.seen += sentences
            return [[(sentence, "X")] for sentence in sentences]

    tagger = Counting()
    remembered = RememberedTags(tagger)
    assert remembered.name == "counting"
    assert remembered.tag(["a", "b", "a"]) == [[("a", "X")], [("b", "X")], [("a", "X")]]
    assert remembered.tag(["c", "b"]) == [[("c", "X")], [("b", "X")]]
    assert tagger.seen == ["a", "b", "c"]
