"""Contrastive accuracy, items in context, distances, consistency."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fenster.data.corpora.contrapro import ContrastiveItem, read_items
from fenster.data.corpora.synthetic import generate
from fenster.document import Document, ParallelDocument
from fenster.errors import InputError
from fenster.evaluate.metrics import consistency, contrastive, distance
from fenster.evaluate.metrics import expected_form as item_sets
from fenster.evaluate.metrics.form_f1 import FormCounter
from fenster.evaluate.rules import load_rules
from fenster.evaluate.tagging import TAGGERS
from fenster.evaluate.test_set import TranslatedTestSet
from fenster.io.files import TextFiles


def record(pronoun: str, **more: Any) -> dict[str, Any]:
    others = [form for form in ("er", "sie", "es") if form != pronoun.lower()]
    errors = [{"contrastive": f"{form} ist da.", "replacement": form} for form in others]
    return {
        "src segment": "It is there.",
        "ref segment": f"{pronoun} ist da.",
        "src pronoun": "it",
        "ref pronoun": pronoun,
        "errors": errors,
        **more,
    }


@pytest.fixture
def items(tmp_path: Path) -> list[ContrastiveItem]:
    records = [
        record("er", **{"ante distance": 0, "intrasegmental": True}),
        record("Sie", **{"ante distance": 1, "intrasegmental": False}),
        record("es", **{"ante distance": 7, "intrasegmental": None}),
        record("es"),
    ]
    records[2]["errors"].append({"contrastive": "ihr ist da.", "replacement": "ihr"})
    path = tmp_path / "set.json"
    path.write_text(json.dumps(records))
    return list(read_items(path, TextFiles()))


SCORES = [[1.0, 2.0, 3.0], [2.0, 2.0, 5.0], [1.0, 2.0, 3.0, math.nan], [0.5, 1.0, 2.0]]


def test_ties_and_nan_are_wrong(items: list[ContrastiveItem]) -> None:
    assert contrastive.right([1, 2, 3], maximize=False) and contrastive.right([3, 2, 1], maximize=True)
    assert not contrastive.right([2, 2, 3], maximize=False)
    assert not contrastive.right([1, math.nan], maximize=False)
    assert not contrastive.right([math.nan, 1], maximize=True)
    found = contrastive.accuracy(items, SCORES, maximize=False)
    assert found.score == 50.0


def test_categories_are_the_published_evaluator_s(items: list[ContrastiveItem]) -> None:
    found = {
        (each.kind, each.name): (each.right, each.total) for each in contrastive.categories(items, SCORES, False)
    }
    assert found["pronoun pair", "it:es"] == (1, 2)
    assert found["pronoun pair", "it:sie"] == (0, 1)
    assert found["intrasegmental", "True"] == (1, 1)
    assert found["intrasegmental", "None"] == (1, 1)
    assert found["antecedent distance", ">3"] == (0, 1)
    assert found["antecedent distance", "unknown"] == (1, 1)
    assert found["pair at distance", "it:er 0"] == (1, 1)


def test_scores_from_a_file(items: list[ContrastiveItem], tmp_path: Path) -> None:
    path = tmp_path / "scores"
    numbers = [1, 2, 3, 2, 2, 5, 1, 2, 3, "nan", 0.5, 1, 2]
    path.write_text("".join(f"{number}\n" for number in numbers))
    found = contrastive.read_scores(path, items)
    assert [len(each) for each in found] == [3, 3, 4, 3] and found[1] == [2, 2, 5]
    path.write_text("1\n2\n")
    with pytest.raises(InputError, match=r"has 2 scores\n.*expected: 13: for each of 4 items"):
        contrastive.read_scores(path, items)
    path.write_text("1\nx\n")
    with pytest.raises(InputError, match="scores:2: not a number"):
        contrastive.read_scores(path, items)


def test_items_in_context(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    rows = [
        {"document": "a", "src": "Do you?", "ref": "Tust du?", "expected": "du", "src context": ["Hi.", "", "Ann."]},
        {"document": "a", "src": "You see.", "ref": "Sie sehen.", "expected": "sie", "src context": []},
        {"document": "b", "src": "Your hat.", "ref": "Dein Hut.", "expected": "dein", "src context": ["Oh."]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = item_sets.read_items(path)
    assert found[0].given(None).texts == ["Hi.", "Ann.", "Do you?"]
    assert found[0].given(1).texts == ["Ann.", "Do you?"] and found[0].given(0).texts == ["Do you?"]
    texts = item_sets.as_test_set(found, ["Tust Du?", "siehst du", "Deine Hüte."])
    assert [len(document) for document in texts.documents] == [2, 1]
    assert item_sets.accuracy(found, texts.outputs).score == pytest.approx(100 / 3)
    assert [item.document for item in item_sets.read_items(path, limit=2)] == ["a", "b"]
    path.write_text(json.dumps(rows[0] | {"src context": "Hi there."}) + "\n")
    assert item_sets.read_items(path)[0].context == ("Hi there.",)
    path.write_text('{"document": "a"}\n')
    with pytest.raises(InputError, match=r"set\.jsonl:1: not an item"):
        item_sets.read_items(path)


def test_distances_of_generated_choices() -> None:
    made = list(generate(40, seed=5, distance=(1, 6), echo=0))
    documents = tuple(each.pair for each in made)
    decisions = {each.pair.id: list(each.decisions) for each in made}
    # A system that remembers two sentences: beyond them the reference's forms are lost.
    outputs = []
    for each in made:
        lines = each.pair.target.texts
        for choice in each.decisions:
            if choice.distance > 2:
                lines[choice.segment] = "?"
        outputs.append(tuple(lines))
    choices = distance.generated(TranslatedTestSet(documents, tuple(outputs)), decisions)
    assert len(choices) == sum(len(each.decisions) for each in made)
    found = {(each.unit, each.kind, each.label): each for each in distance.bins(choices)}
    assert found["sentences", "register", "2"].right == found["sentences", "register", "2"].total > 0
    assert found["sentences", "pronoun", "4"].right == 0 < found["sentences", "pronoun", "4"].total
    words = [each for each in found.values() if each.unit == "words"]
    assert sum(each.total for each in words) == len(choices) and words[0].middle > 1
    far = {documents[0].id: [replace(made[0].decisions[0], segment=99)]}
    with pytest.raises(InputError, match="a choice is in segment 99"):
        distance.generated(TranslatedTestSet(documents, tuple(outputs)), far)
    with pytest.raises(InputError, match="which the test set does not have"):
        distance.generated(TranslatedTestSet(documents[:1], tuple(outputs[:1])), decisions)


def counter() -> FormCounter:
    return FormCounter(load_rules("en-de"), TAGGERS["lists"]("en"), TAGGERS["lists"]("de"))


def dialogue(*rows: tuple[str, str, str]) -> TranslatedTestSet:
    source, output, reference = zip(*rows, strict=True)
    pair = ParallelDocument(Document.of("a", source), Document.of("a", reference))
    return TranslatedTestSet((pair,), (output,))


def test_distances_of_registers_in_real_documents() -> None:
    texts = dialogue(
        ("You there.", "Sie da.", "Du da."),
        ("A tree.", "Ein Baum.", "Ein Baum."),
        ("You see.", "Du siehst.", "Du siehst."),
        ("You know.", "Sie wissen.", "Du weißt."),
    )
    found = distance.registers(texts, counter())
    assert [(each.sentences, each.words, each.right) for each in found] == [(2, 4, True), (1, 2, False)]


def test_register_consistency_is_the_share_of_the_majority() -> None:
    texts = dialogue(
        ("You there.", "Sie da.", "Du da."),
        ("You see.", "Du siehst.", "Du siehst."),
        ("You know.", "Sie wissen.", "Du weißt."),
        ("No.", "Du!", "Nein."),
    )
    (found,) = consistency.RegisterConsistency().measure(texts, counter())
    assert found.score == pytest.approx(200 / 3) and found.details == {"reference": 100.0, "cases": 3}


def test_term_consistency_finds_the_word_that_changes() -> None:
    nouns = [("house", "Haus"), ("garden", "Garten"), ("river", "Fluss"), ("bridge", "Brücke")]
    documents, outputs = [], []
    for number in range(12):
        (a, x), (b, y) = nouns[number % 4], nouns[(number + 1) % 4]
        source = [f"I see the {a}", f"We paint the {b}", f"They like the {a}"]
        target = [f"Ich sehe das {x}", f"Wir malen das {y}", f"Sie mögen das {x}"]
        documents.append(ParallelDocument(Document.of(str(number), source), Document.of(str(number), target)))
        outputs.append(target)
    (same,) = consistency.TermConsistency().measure(TranslatedTestSet(tuple(documents), tuple(map(tuple, outputs))))
    assert same.score == 100 and same.details["reference"] == 100 and same.details["cases"] > 0
    for number in (0, 4, 8):
        outputs[number] = [*outputs[number][:2], "Sie mögen das Gebäude"]
    (other,) = consistency.TermConsistency().measure(TranslatedTestSet(tuple(documents), tuple(map(tuple, outputs))))
    assert other.score < 100 and other.details["reference"] == 100
    (empty,) = consistency.TermConsistency().measure(TranslatedTestSet(tuple(documents), (("", "", ""),) * 12))
    assert empty.score == 0


@pytest.mark.parametrize(
    ("expected", "translation", "right"),
    [
        ("du", "Hast Du es?", True),
        ("du", "Die Dusche.", False),
        ("hast du", "Hast du es?", True),
        ("hast du", "Du hast es.", False),
    ],
)
def test_expected_forms_are_whole_words(expected: str, translation: str, right: bool) -> None:
    assert item_sets.holds(expected, translation) == right
