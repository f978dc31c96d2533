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
        ("Settings » Network", None),
        ("Read more »", None),
        ('Settings » "Network"', "straight"),
        ("« oui » or »ja«", "typographic"),
        ("He said »yes", "typographic"),
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


def test_inches_are_no_quotation_marks() -> None:
    assert with_quotes(['Ein "neuer" 24"-Monitor und "Route 66"'], GERMAN) == [
        'Ein „neuer“ 24"-Monitor und „Route 66“'
    ]


def test_arrows_are_no_quotation_marks() -> None:
    assert with_quotes(['Variante » "Name" » ', 7], GERMAN) == ["Variante » „Name“ » ", 7]
    assert with_quotes(["Mehr »"], GERMAN) == ["Mehr »"]
    assert with_quotes(["Home » «Foo»"], GERMAN) == ["Home » „Foo“"]
    assert with_quotes(["« ja »"], GERMAN) == ["„ ja “"]


def test_protected_parts_stay_and_count_as_words() -> None:
    assert with_quotes(['Das "', 7, '" und "', 8, '" dazu.'], GERMAN) == ["Das „", 7, "“ und „", 8, "“ dazu."]


STORY = ['"Yes," he said.', "He left.", '"No!"'] * 3


def test_straight_marks_stay_but_in_stories() -> None:
    assert DocumentQuotes(GERMAN, "auto", ['"Yes," he said.']).pair_for('"No."') == STRAIGHT
    assert DocumentQuotes(GERMAN, "auto", STORY).pair_for('"No."') == GERMAN
    assert DocumentQuotes(GERMAN, "auto", STORY + ["Then nothing."] * 60).pair_for('"No."') == STRAIGHT
    news = ['"We are pleased," she said on Monday.', "The shares rose."] * 10
    assert DocumentQuotes(GERMAN, "auto", news).pair_for('"No."') == STRAIGHT
    assert DocumentQuotes(GERMAN, "auto", ["“Yes,” he said."]).pair_for("“No.”") == GERMAN
    assert DocumentQuotes(GERMAN, "auto", STORY).pair_for("No marks.") is None


def test_policies() -> None:
    assert DocumentQuotes(GERMAN, "keep", STORY).pair_for('"No."') == STRAIGHT
    assert DocumentQuotes(GERMAN, "keep", STORY).pair_for("“No.”") == GERMAN
    assert DocumentQuotes(GERMAN, "model", STORY).pair_for("“No.”") is None
    assert DocumentQuotes(None, "auto", STORY).pair_for("“No.”") is None, "a language whose marks are not known"
