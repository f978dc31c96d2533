"""Text in the wrong language."""

from __future__ import annotations

import pytest

from fenster.language import identify
from fenster.language.identify import LanguageCheck

CHECK = LanguageCheck("en", "de")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Das ist schon Deutsch.", "de"),
        ("Sie war da und er nicht.", "de"),
        ("Bonjour tout le monde, comment allez-vous?", "fr"),
        ("This is English.", None),
        ('He said "Guten Morgen" and left.', None),
        ("War was declared.", None),
        ("Tom asked Mary.", None),
        ("Guten Tag", None),  # too short to be sure
        ("", None),
    ],
)
def test_other_languages_are_recognised(text: str, language: str | None) -> None:
    assert CHECK.other(text) == language


def test_ordinary_text_does_not_load_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identify, "_identifier", lambda codes: pytest.fail("loaded"))
    for text in ("This is the house that Jack built.", "We have no bananas today, and that is it."):
        assert CHECK.other(text) is None
