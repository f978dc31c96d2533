"""Text in the wrong language."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from fenster.language import identify
from fenster.language.identify import LanguageCheck
from fenster.language.langid import among, identifier

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
    monkeypatch.setattr(identify, "identifier", lambda: pytest.fail("loaded"))
    for text in ("This is the house that Jack built.", "We have no bananas today, and that is it."):
        assert CHECK.other(text) is None


def test_the_model_in_a_file_is_py3langids() -> None:
    """The same probabilities to the last bit; and those among some languages."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    whole = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    texts = [
        "A young man was waiting outside.",
        "Er wartete draußen.",
        "Bonjour tout le monde",
        "你好。",
        "hello",
        "",
    ]
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(identifier().rank, texts * 20)) == [whole.rank(text) for text in texts] * 20
    whole.set_languages(["en", "de"])
    for text in texts[:5]:
        wanted, found = whole.classify(text), among(text, ("en", "de"))
        assert found[0] == wanted[0] and found[1] == pytest.approx(wanted[1], rel=1e-4)
    assert among("", ("en", "de"))[1] == pytest.approx(0.5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python's own, about fork beside threads
def test_forked_processes_do_not_disturb_each_other() -> None:
    texts = ["A young man was waiting.", "Er wartete draußen.", "Bonjour tout le monde"] * 60
    wanted = [identifier().classify(text) for text in texts[:3]] * 60
    children = []
    for _ in range(4):
        child = os.fork()
        if not child:
            os._exit(0 if [identifier().classify(text) for text in texts] == wanted else 1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
