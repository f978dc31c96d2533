"""Forms of address."""

from __future__ import annotations

import pytest

from fenster.language import load_language
from fenster.language.register import RegisterCounter

COUNTER = RegisterCounter(load_language("en"), load_language("de"))


@pytest.mark.parametrize(
    ("source", "target", "register"),
    [
        ("Can you help me?", "Können Sie mir helfen?", "formal"),
        ("Can you help me?", "Kannst du mir helfen?", "informal"),
        ("You are late.", "Sie sind spät dran.", "formal"),
        ("They are late.", "Sie sind spät dran.", None),
        ("She said: you may go.", "Sie sagte: Du darfst gehen.", "informal"),
        ("Here is your coat.", "Hier ist Ihr Mantel.", "formal"),
        ("Here is your coat.", "Hier ist euer Mantel.", "informal"),
        ("It is raining.", "Es regnet.", None),
        ("You and you", "Sie und du", None),  # as many of both
        ('"You are right," he said.', "„Sie haben recht“, sagte er.", "formal"),
        ("Her coat.", "Ihr Mantel.", None),
    ],
)
def test_the_register_of_a_translation(source: str, target: str, register: str | None) -> None:
    assert COUNTER.register(source, target) == register


def test_a_language_without_rules_has_no_registers() -> None:
    german = load_language("de").model_copy(update={"address": None})
    counter = RegisterCounter(load_language("en"), german)
    assert not counter.known and counter.register("You!", "Sie!") is None
