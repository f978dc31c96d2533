"""How a translation spells names."""

from __future__ import annotations

import pytest

from fenster.language import load_language
from fenster.language.names import is_copied, respelled, with_genitives


@pytest.mark.parametrize(
    ("target", "copied"),
    [
        ("Er fuhr nach Ashdod.", True),
        ("Ashdods Hafen", True),
        ("die Ashdod-Straße", True),
        ("Er fuhr nach Aschdod.", False),
        ("NeuAshdod", False),
        ("NeuAshdod und Ashdod", True),
        ("", False),
    ],
)
def test_copied(target: str, copied: bool) -> None:
    assert is_copied("Ashdod", target) is copied


@pytest.mark.parametrize(
    ("names", "source", "target", "expected"),
    [
        (["Kardashian"], "Mrs Kardashian called.", "Frau Kardaschian rief an.", "Frau Kardashian rief an."),
        (["Azeroth"], "the king of Azeroth", "der König Aseroths", "der König Azeroths"),
        (["Thabane"], "the wife of Thabane", "Thabans Frau", "Thabanes Frau"),
        (["Solomons"], "the Solomons", "die Solomon", "die Solomons"),
        (["Maryland"], "He moved to Maryland.", "Er zog zu Marias.", "Er zog zu Marias."),
        (["Anna"], "Anna met Hanna.", "Sie traf Hanna.", "Sie traf Hanna."),
        (["Marten"], "Marten went to the garden", "Er ging in den Garten", "Er ging in den Garten"),
        (["Meister"], "Meister", "Er ist meistens hier", "Er ist meistens hier"),
        (["Edie"], "Edie came", "Die Frau, die kam", "Die Frau, die kam"),
        (["DEHRU"], "DEHRU", "Der Dehrus", "Der Dehrus"),
        (["Coburg"], "Coburg and Ann", "Koburg, wie Koburg", "Coburg, wie Koburg"),
        (["Angelo"], "Angelo met Angela", "Angelika traf Angela", "Angelika traf Angela"),
        (["Danny"], "Hello, Danny.", "Hallo, danny.", "Hallo, Danny."),
        ([], "He called.", "Er rief an.", "Er rief an."),
    ],
)
def test_names_get_the_spelling_of_the_source(names: list[str], source: str, target: str, expected: str) -> None:
    assert respelled(names, source, target) == expected


def test_owners() -> None:
    forms = with_genitives(["Tampa", "Heinz"], load_language("en"), load_language("de"))
    assert forms == {
        "Tampa": "Tampa",
        "Tampa's": "Tampas",
        "Tampa’s": "Tampas",
        "Heinz": "Heinz",
        "Heinz's": "Heinz'",
        "Heinz’s": "Heinz'",
    }
    assert with_genitives(["Tampa"], load_language("de"), load_language("en")) == {"Tampa": "Tampa"}
