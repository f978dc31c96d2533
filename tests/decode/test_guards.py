"""What looks wrong with a translation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fenster
from fenster.decode.cross_attention import cross_attention
from fenster.decode.guards import missed, problems
from fenster.decode.problems import PROBLEMS
from fenster.language import load_language
from fenster.language.numbers import NumberConverter

GERMAN = NumberConverter(load_language("en"), load_language("de"))
LONG = "The committee met in the large hall of the old house and discussed the matter at length."


def test_letters_of_other_languages_and_doubled_figures() -> None:
    letters = load_language("de").foreign_letters
    assert problems("He lives in Tampa, Florida.", "Er lebt inţa, Florida.", None, letters) == ("characters",)
    assert problems("He met Šimun in a cafe.", "Er traf Šimun im Café.", None, letters) == ()
    assert problems("Order 4711, item 12.", "Bestellung 4711, Artikel 4711, Artikel 12.") == ("numbers",)
    assert problems("The 1,000 men.", "Die 1.000 der 1.000 Männer.", GERMAN) == ("numbers",)
    assert problems("The 12 men.", "Die 12 der 12 Männer.") == (), "short figures may well be repeated"


@pytest.mark.parametrize(
    ("source", "target", "found"),
    [
        ("It was 5 or 1000 in 1999.", "Es war 5 oder 1.000 im Jahr 1999.", ()),
        ("It was five.", "Es waren 5.", ()),
        ("It was 50.", "Es war 5.", ("numbers",)),
        ("There were 2 and 2.", "Es waren 2.", ("numbers",)),
        ("A short one.", "Das ist das ist das ist das ist das.", ("repetition",)),
        ("He waited outside.", "Er wartete draußen draußen.", ("repetition",)),
        ("He was very, very glad, very very glad.", "Er war sehr sehr froh, sehr sehr froh.", ()),
        ("Those who the state pays.", "Die, die die Stadt bezahlt.", ()),
        ("No, no, no, no!", "Nein, nein, nein, nein!", ()),
        (LONG, "Ja.", ("length",)),
        ("Yes.", LONG + " " + LONG, ("length",)),
        ("The cat sat down.", "The cat sat down.", ("copy",)),
        ("New York Times", "New York Times", ()),
        ("", "", ()),
    ],
)
def test_problems(source: str, target: str, found: tuple[str, ...]) -> None:
    assert problems(source, target) == found
    assert set(found) <= PROBLEMS.keys()


def test_what_no_word_looks_at_is_missed() -> None:
    assert missed(np.array([[0.9, 0.05, 0.05], [0.5, 0.05, 0.45]])) == pytest.approx(1 / 3)
    assert missed(np.eye(4)) == 0


def test_a_translation_without_half_of_its_sentence_misses_words() -> None:
    """With the bundled model: the threshold lies between a whole translation and half of one."""
    translator = fenster.load(beam=1)
    source = translator.planner.plan("I would like to thank you for your letter, but we could not open it.").pieces[0]
    whole, half = (
        translator.tokenizer.encode_each([text])[0]
        for text in (
            "Ich möchte Ihnen für Ihren Brief danken, aber wir konnten ihn nicht öffnen.",
            "Ich möchte Ihnen danken.",
        )
    )
    found = [missed(cross_attention(translator.loaded, source.source, target)) for target in (whole, half)]
    assert found[0] < 0.2 and found[1] > 0.35, found


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("The storm hit Tampa and moved on to Chattanooga.", ["Tampa", "Chattanooga"]),
        ("The HTA has not yet decided.", ["HTA"]),
        ("Heinz lives in Coburg, near Ashdod.", ["Heinz", "Coburg", "Ashdod"]),
    ],
)
def test_names_come_through(source: str, names: list[str]) -> None:
    """With the bundled model, which makes other words of some of them if nobody looks."""
    translator, unguarded = (fenster.load(beam=2, guards=guards) for guards in (True, False))
    assert all(name in translator.translate(source).texts[0] for name in names)
    assert not all(name in unguarded.translate(source).texts[0] for name in names), "another test is needed"


def test_names_may_be_translated_if_a_glossary_says_so(tmp_path: Path) -> None:
    (tmp_path / "terms.csv").write_text("Coburg,Koburg\n", encoding="utf-8")
    translator = fenster.load(beam=2, glossary=tmp_path / "terms.csv")
    made = translator.translate("Heinz lives in Coburg.")
    assert "Heinz" in made.texts[0] and "Koburg" in made.texts[0] and "Coburg" not in made.texts[0]


def test_a_name_is_not_forced_in_at_any_price() -> None:
    """The bundled model has no place for this name, and would go on and on until it is there."""
    source = (
        "The measure, signed into law by Louisiana Governor Bobby Jindal in June and due to take effect Sept. 1, "
        "would require doctors who perform abortions to have patient admitting privileges at a hospital within 30 "
        "miles of their practice."
    )
    made = fenster.load(beam=4).translate(source).segments[0]
    assert len(made.text.split()) < 1.3 * len(source.split())
    assert ("Louisiana" in made.text) != ("names" in made.warnings)
