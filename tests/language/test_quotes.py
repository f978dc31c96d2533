import pytest

from fenster.language.quotes import STRAIGHT, DocumentQuotes, quote_style, with_quotes

GERMAN = ("„", "“")


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ('He said "yes".', "straight"),
        ("He said “yes”.", "typographic"),
        ("„Ja“, sagte er.", "typographic"),
        ("It's 5' tall.", None),
        ('A 24" screen.', None),
        ("No marks.", None),
        ('A "mixed” pair.', None),
    ],
)
def test_styles(text: str, style: str | None) -> None:
    assert quote_style(text) == style


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('"Ja", sagte er, "gewiss."', "„Ja“, sagte er, „gewiss.“"),
        ('("Ja")', "(„Ja“)"),
        ("“Ja” und “nein”", "„Ja“ und „nein“"),
        ("»Ja«, sagte er.", "„Ja“, sagte er."),
        ('Er sagte: "Ja?" – "Nein!"', "Er sagte: „Ja?“ – „Nein!“"),
        ("„Ja“", "„Ja“"),
        ('"', "„"),
    ],
)
def test_marks_open_and_close(text: str, written: str) -> None:
    assert with_quotes([text], GERMAN) == [written]
    assert "".join(with_quotes([written], STRAIGHT)) == "".join('"' if c in "„“" else c for c in written)


def test_protected_parts_stay_and_count_as_words() -> None:
    assert with_quotes(['Das "', 7, '" und "', 8, '" dazu.'], GERMAN) == ["Das „", 7, "“ und „", 8, "“ dazu."]


def test_a_document_keeps_to_what_the_model_made_of_its_first_straight_marks() -> None:
    quotes = DocumentQuotes(GERMAN, "auto")
    assert quotes.pair_for('"Yes."') is None
    quotes.learn('"Yes."', "„Ja.“")
    quotes.learn('"No."', '"Nein."')
    assert quotes.pair_for('"No."') == GERMAN
    assert quotes.pair_for("No marks.") is None
    quotes = DocumentQuotes(GERMAN, "auto")
    quotes.learn('"Yes."', '"Ja."')
    assert quotes.pair_for('"No."') == STRAIGHT
    assert quotes.pair_for("“No.”") == GERMAN, "typographic marks are always those of the language"


def test_policies() -> None:
    assert DocumentQuotes(GERMAN, "keep").pair_for('"No."') == STRAIGHT
    assert DocumentQuotes(GERMAN, "keep").pair_for("“No.”") == GERMAN
    assert DocumentQuotes(GERMAN, "model").pair_for("“No.”") is None
    assert DocumentQuotes(None, "auto").pair_for("“No.”") is None, "a language whose marks are not known"
