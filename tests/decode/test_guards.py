"""What looks wrong with a translation."""

from __future__ import annotations

import pytest

from fenster.decode.guards import PROBLEMS, problems

LONG = "The committee met in the large hall of the old house and discussed the matter at length."


@pytest.mark.parametrize(
    ("source", "target", "found"),
    [
        ("It was 5 or 1000 in 1999.", "Es war 5 oder 1.000 im Jahr 1999.", ()),
        ("It was five.", "Es waren 5.", ()),
        ("It was 50.", "Es war 5.", ("numbers",)),
        ("There were 2 and 2.", "Es waren 2.", ("numbers",)),
        ("A short one.", "Das ist das ist das ist das ist das.", ("repetition",)),
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
